module gpucluster/toolchain/snapshotter

go 1.26.0

require github.com/kubernetes-csi/external-snapshotter/client/v8 v8.6.0
