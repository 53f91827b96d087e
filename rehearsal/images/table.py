"""The stock: images that many programs use, and what their processes do."""

from collections.abc import Iterable

from rehearsal.devices import (
    card_plugins,
    ceph_csi,
    cilium,
    daemons,
    dcgm_exporter,
    host_engine,
    local_volumes,
    mig,
    monitoring,
    network_operator,
    nic_states,
    rook,
    snapshots,
    sriov_operator,
    vector_add,
    waits,
)
from rehearsal.devices.gpu_operator import GpuOperator
from rehearsal.images import (
    certgen,
    curl,
    ebs,
    external_secrets,
    fetch,
    gateway,
    grafana,
    karpenter,
    kubectl,
    managecrds,
    metrics,
    mlflow,
    nginx,
    node_exporter,
    operators,
    pipelines,
    postgresql,
    prometheus,
    s3sync,
)
from rehearsal.images.katib import collector
from rehearsal.images.katib import programs as katib
from rehearsal.images.keda import operator as keda
from rehearsal.images.keda import server as keda_server
from rehearsal.images.kyverno import clearing
from rehearsal.images.kyverno import controller as kyverno
from rehearsal.images.oidc import proxy as oidc
from rehearsal.kubelet.images import Absent, Images, Row, unknown
from rehearsal.kubelet.program import Program

TABLE: tuple[Row, ...] = (
    Row(r".*/k8s-device-plugin", daemons.nvidia_device_plugin, container="nvidia-device-plugin.*"),
    Row(r".*/k8s-device-plugin", daemons.gpu_feature_discovery, container="gpu-feature-discovery.*"),
    Row(r".*/k8s-mig-manager", mig.mig_manager),
    Row(r".*/dcgm-exporter", dcgm_exporter.run),
    Row(r".*/aws-efa-k8s-device-plugin", daemons.efa_device_plugin),
    Row(r".*/cilium/cilium", cilium.agent, container="cilium-agent"),
    Row(r".*/cilium/operator.*", cilium.Operator, container="cilium-operator"),
    Row(r".*/k8s-rdma-shared-dev-plugin", card_plugins.rdma_shared_device_plugin, container=nic_states.PLUGIN),
    Row(r".*/sriov-network-device-plugin", card_plugins.port_plugin, container=nic_states.PORTS),
    Row(r".*/sriov-network-device-plugin", card_plugins.function_plugin, container=sriov_operator.PLUGIN),
    Row(r".*/sriov-network-operator-config-daemon", sriov_operator.config_daemon, container=sriov_operator.DAEMON),
    Row(r".*/sriov-network-operator", sriov_operator.SriovNetworkOperator, command="sriov-network-operator"),
    Row(r".*/nvidia-k8s-ipam", network_operator.PoolController, container="nv-ipam-controller"),
    Row(
        r".*/(multus-cni|plugins|nvidia-k8s-ipam)",
        lambda _: Program(),
        container="kube-multus|cni-plugins|nv-ipam-node",
    ),
    Row(r".*/cloud-native/network-operator", network_operator.NetworkOperator, container="network-operator"),
    Row(r".*/local-volume-provisioner", local_volumes.provisioner),
    Row(r".*/rook/ceph", rook.RookOperator, container="rook-ceph-operator"),
    Row(r".*/cephcsi/ceph-csi-operator", ceph_csi.CsiOperator, container="manager"),
    Row(r".*/cephcsi/cephcsi", ceph_csi.plugin, container="csi-(rbd|cephfs)plugin"),
    Row(r".*/csi-snapshotter", ceph_csi.snapshotter, container="csi-snapshotter"),
    Row(r".*/snapshot-controller", snapshots.SnapshotController, container="snapshot-controller"),
    Row(r".*/csi-provisioner", ceph_csi.Provisioner, container="csi-provisioner"),
    Row(r".*/nvidia/gpu-operator", waits.for_driver, container="driver-validation"),
    Row(r".*/nvidia/gpu-operator", waits.for_toolkit, container="toolkit-validation"),
    Row(r".*/nvidia/gpu-operator", waits.for_plugin, container="plugin-validation"),
    Row(r".*/nvidia/gpu-operator", GpuOperator, container="gpu-operator"),
    Row(r".*/nvidia/gpu-operator", managecrds.run, command="manage-crds"),
    Row(r".*/nvidia/.*", vector_add.run, command="vectorAdd"),
    Row(r".*/node-feature-discovery", daemons.feature_worker, container="worker"),
    Row(r".*/node-feature-discovery", daemons.prune_features, container="nfd-master"),
    Row(r".*/aws-efs-csi-driver", daemons.csi_node("efs.csi.aws.com"), container="efs-plugin"),
    Row(r".*/aws-fsx-csi-driver", daemons.csi_node("fsx.csi.aws.com"), container="fsx-plugin-node"),
    Row(r".*/aws-ebs-csi-driver", daemons.csi_node("ebs.csi.aws.com"), container="ebs-plugin-node"),
    Row(r".*/aws-ebs-csi-driver", ebs.Controller, container="ebs-plugin-controller"),
    Row(r".*/eks-node-monitoring-agent", monitoring.agent, container="eks-node-monitoring-agent"),
    Row(r".*/eks-node-monitoring-agent", unknown, container=host_engine.CONTAINER),
    Row(r".*/vc-scheduler", operators.volcano_scheduler),
    Row(r".*/vc-controller-manager", operators.volcano_controllers),
    Row(r".*/vc-webhook-manager", operators.volcano_admission),
    Row(r".*/training-v1/training-operator|.*/kubeflow/training-operator", operators.training_operator),
    Row(r".*/katib/katib-controller", katib.controller),
    Row(r".*/katib/katib-db-manager", katib.manager, port=lambda _: katib.MANAGER),
    Row(r".*/katib/file-metrics-collector", collector.Collector),
    Row(r".*/katib/suggestion-.*", katib.algorithm),
    Row(r".*/katib/earlystopping-medianstop", katib.early_stopping),
    Row(r"(.*/)?postgres", postgresql.run),
    Row(r".*/mlflow", mlflow.run, port=mlflow.port),
    Row(r".*/kfp-api-server", pipelines.run),
    Row(r".*/metrics-server", metrics.run),
    Row(r".*/node-exporter", node_exporter.run, port=node_exporter.port),
    Row(r".*/prometheus-operator", prometheus.operator),
    Row(r".*/prometheus-config-reloader", prometheus.config_reloader),
    Row(r".*/prometheus", prometheus.server, container="prometheus"),
    Row(r".*/alertmanager", prometheus.alertmanager, container="alertmanager"),
    Row(r".*/prometheus-adapter", prometheus.adapter),
    Row(r".*/kube-state-metrics", prometheus.kube_state_metrics),
    Row(r".*/kedacore/keda", keda.Operator, container="keda-operator"),
    Row(r".*/kedacore/keda-metrics-apiserver", keda_server.run),
    Row(r"(.*/)?traefik", gateway.traefik),
    Row(r".*/cert-manager-(controller|cainjector|webhook)", gateway.cert_manager),
    Row(r".*/cert-manager-startupapicheck", gateway.api_check),
    Row(r".*/oauth2-proxy/oauth2-proxy", oidc.run),
    Row(r".*/external-secrets", external_secrets.run),
    Row(r".*/karpenter/controller", karpenter.controller, container="controller"),
    Row(r".*/kyverno/kyverno", kyverno.excepting(), container="kyverno"),
    Row(r".*/kyverno/kyvernopre", kyverno.prepares),
    Row(r".*/kyverno/readiness-checker", clearing.run),
    Row(r".*/kube-webhook-certgen", certgen.run),
    Row(r".*/grafana/grafana", grafana.run, container="grafana"),
    Row(r".*/kubectl|kubectl", kubectl.run),
    Row(r"(.*/)?(alpine|busybox)", fetch.run),
    Row(r"(.*/)?(curl|curlimages)/curl", curl.run),
    Row(r"(.*/)?nginx(-unprivileged)?", nginx.run, configured=True),
    Row(s3sync.REPOSITORY, s3sync.run),
)


def known(particular: Iterable[Row] = (), absent: Absent | None = None) -> Images:
    """The images of one rehearsal: a program's own rows come before the stock. `absent` are in no registry."""
    return Images((*particular, *TABLE), absent)
