module gpucluster/toolchain/kyverno

go 1.26.0

require (
	github.com/kyverno/api v0.0.1-alpha.3.0.20260723090831-fb2785727f98
	github.com/kyverno/kyverno v1.19.1
)
