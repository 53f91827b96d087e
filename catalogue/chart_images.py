"""Images that charts bring, with the value of the chart that says where each is pulled from.

Versions are those of the charts' pinned releases: their values and, where a value is empty, their appVersion. An image
stands here if the program's values make a pod of it, directly or by a chart's operator.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.metal_versions import (
    CEPH_CSI_DRIVERS,
    CILIUM,
    LOCAL_STATIC_PROVISIONER,
    MELLANOX,
    NETWORK_OPERATOR,
    ROOK_CEPH,
)
from catalogue.versions import (
    CERT_MANAGER,
    EFA_DEVICE_PLUGIN,
    EXTERNAL_SECRETS,
    FLUENT_BIT,
    GPU_OPERATOR,
    KARPENTER,
    KEDA,
    KUBE_PROMETHEUS_STACK,
    KYVERNO,
    KYVERNO_VERSION,
    METRICS_SERVER,
    PROMETHEUS_ADAPTER,
    TRAEFIK,
    VOLCANO,
)

Part = Literal["registry", "path", "directory", "repository", "image"]
"""What of `quay.io/prometheus/node-exporter:v1` a value holds: `quay.io`, `prometheus/node-exporter`,
`quay.io/prometheus`, `quay.io/prometheus/node-exporter`, or all of it."""

Use = Literal["always", "asked", "named"]
"""Whether nodes pull it: always; where the stack asks for what it serves, such as drivers for machines without any, or
cut GPUs; or never, as it is named to an operator that runs it for what there is none of: virtual machines, Thanos.
"""


@dataclass(frozen=True, kw_only=True)
class ChartImage:
    """An image as a chart's release takes it, tag included. `values` are paths of values, each with its part of it."""

    image: str
    values: Mapping[str, Part]
    use: Use = "always"


def _operand(value: str, image: str, *, use: Use = "always") -> ChartImage:
    """One of NVIDIA's operators': directory, name and version are three values (ClusterPolicy v1)."""
    return ChartImage(image=image, values={f"{value}.repository": "directory"}, use=use)


def _registry(value: str, image: str, *, use: Use = "always") -> ChartImage:
    return ChartImage(image=image, values={f"{value}.registry": "registry"}, use=use)


def _repository(value: str, image: str) -> ChartImage:
    return ChartImage(image=image, values={f"{value}.repository": "repository"})


def _apart(value: str, image: str, *, use: Use = "always") -> ChartImage:
    """An image whose chart takes registry and path as two values."""
    return ChartImage(image=image, values={f"{value}.registry": "registry", f"{value}.repository": "path"}, use=use)


def _csi(value: str, image: str, *, use: Use) -> ChartImage:
    """An image of Ceph's drivers: Rook's chart names it, and the drivers that their own chart orders run it."""
    return ChartImage(image=image, values={f"csi.{value}.repository": "repository"}, use=use)


_NVIDIA = "nvcr.io/nvidia"
_OPERATOR_TAG = GPU_OPERATOR.version
_MANAGER = f"{_NVIDIA}/cloud-native/k8s-driver-manager:v0.11.0"
_SIDECAR = "quay.io/kiwigrid/k8s-sidecar:2.10.1"
_JETSTACK = ("controller", "webhook", "cainjector", "acmesolver", "startupapicheck")
_VOLCANO = ("vc-webhook-manager", "vc-controller-manager", "vc-scheduler")

CHART_IMAGES: Mapping[str, tuple[ChartImage, ...]] = {
    KUBE_PROMETHEUS_STACK.name: (
        _registry("prometheus.prometheusSpec.image", "quay.io/prometheus/prometheus:v3.14.0-distroless"),
        _registry("alertmanager.alertmanagerSpec.image", "quay.io/prometheus/alertmanager:v0.34.0"),
        _registry("prometheusOperator.image", "quay.io/prometheus-operator/prometheus-operator:v0.93.1"),
        _registry(
            "prometheusOperator.prometheusConfigReloader.image",
            "quay.io/prometheus-operator/prometheus-config-reloader:v0.93.1",
        ),
        _registry("prometheusOperator.thanosImage", "quay.io/thanos/thanos:v0.42.4", use="named"),
        _registry("grafana.image", "docker.io/grafana/grafana:13.2.0"),
        _registry("grafana.sidecar.image", _SIDECAR),
        _registry("kube-state-metrics.image", "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.20.0"),
        _registry("prometheus-node-exporter.image", "quay.io/prometheus/node-exporter:v1.12.1-distroless"),
    ),
    FLUENT_BIT.name: (_repository("image", "cr.fluentbit.io/fluent/fluent-bit:5.1.1"),),
    METRICS_SERVER.name: (_repository("image", "registry.k8s.io/metrics-server/metrics-server:v0.8.1"),),
    PROMETHEUS_ADAPTER.name: (_repository("image", "registry.k8s.io/prometheus-adapter/prometheus-adapter:v0.12.0"),),
    KEDA.name: (
        _apart("image.keda", f"ghcr.io/kedacore/keda:{KEDA.version}"),
        _apart("image.metricsApiServer", f"ghcr.io/kedacore/keda-metrics-apiserver:{KEDA.version}"),
        _apart("image.webhooks", f"ghcr.io/kedacore/keda-admission-webhooks:{KEDA.version}", use="named"),
    ),
    GPU_OPERATOR.name: (
        _operand("operator", f"{_NVIDIA}/gpu-operator:{_OPERATOR_TAG}"),
        _operand("validator", f"{_NVIDIA}/gpu-operator:{_OPERATOR_TAG}"),
        _operand("nodeStatusExporter", f"{_NVIDIA}/gpu-operator:{_OPERATOR_TAG}"),
        _operand("devicePlugin", f"{_NVIDIA}/k8s-device-plugin:v0.19.3"),
        _operand("gfd", f"{_NVIDIA}/k8s-device-plugin:v0.19.3"),
        _operand("dcgmExporter", f"{_NVIDIA}/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"),
        # The exporter has an engine of its own.
        _operand("dcgm", f"{_NVIDIA}/cloud-native/dcgm:4.5.2-1-ubuntu22.04", use="named"),
        _operand("migManager", f"{_NVIDIA}/cloud-native/k8s-mig-manager:v0.14.2", use="asked"),
        _operand("driver", f"{_NVIDIA}/driver:580.126.20", use="asked"),
        _operand("driver.manager", _MANAGER, use="asked"),
        _operand("toolkit", f"{_NVIDIA}/k8s/container-toolkit:v1.19.1", use="asked"),
        _operand("gds", f"{_NVIDIA}/cloud-native/nvidia-fs:2.27.3", use="asked"),
        _operand("gdrcopy", f"{_NVIDIA}/cloud-native/gdrdrv:v2.5.2", use="asked"),
        _operand("vgpuManager.driverManager", _MANAGER, use="named"),
        _operand("vfioManager", _MANAGER, use="named"),
        _operand("vfioManager.driverManager", _MANAGER, use="named"),
        _operand("vgpuDeviceManager", f"{_NVIDIA}/cloud-native/vgpu-device-manager:v0.4.2", use="named"),
        _operand("ccManager", f"{_NVIDIA}/cloud-native/k8s-cc-manager:v0.4.0", use="named"),
        _operand("sandboxDevicePlugin", f"{_NVIDIA}/kubevirt-gpu-device-plugin:v1.5.0", use="named"),
        _operand("kataSandboxDevicePlugin", f"{_NVIDIA}/cloud-native/nvidia-sandbox-device-plugin:v0.0.3", use="named"),
        _repository("node-feature-discovery.image", "registry.k8s.io/nfd/node-feature-discovery:v0.18.3"),
    ),
    EFA_DEVICE_PLUGIN.name: (
        _repository("image", "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20"),
    ),
    CERT_MANAGER.name: tuple(
        ChartImage(image=f"quay.io/jetstack/cert-manager-{each}:v1.21.1", values={"imageRegistry": "registry"})
        for each in _JETSTACK
    ),
    TRAEFIK.name: (
        ChartImage(
            image="docker.io/library/traefik:v3.7.13",
            values={"image.registry": "registry", "image.repository": "path"},
        ),
    ),
    EXTERNAL_SECRETS.name: (
        _repository("image", f"ghcr.io/external-secrets/external-secrets:v{EXTERNAL_SECRETS.version}"),
    ),
    KARPENTER.name: (_repository("controller.image", f"public.ecr.aws/karpenter/controller:{KARPENTER.version}"),),
    KYVERNO.name: (
        _registry("admissionController.container.image", f"reg.kyverno.io/kyverno/kyverno:{KYVERNO_VERSION}"),
        _registry("admissionController.initContainer.image", f"reg.kyverno.io/kyverno/kyvernopre:{KYVERNO_VERSION}"),
        # Ends the webhooks before the release goes.
        _registry("webhooksCleanup.image", f"ghcr.io/kyverno/readiness-checker:{KYVERNO_VERSION}"),
        _registry("crds.migration.image", f"reg.kyverno.io/kyverno/kyverno-cli:{KYVERNO_VERSION}", use="asked"),
    ),
    VOLCANO.name: tuple(
        ChartImage(
            image=f"docker.io/volcanosh/{each}:v{VOLCANO.version}",
            values={"basic.image_registry": "registry"},
        )
        for each in _VOLCANO
    ),
    CILIUM.name: (
        _repository(
            "image",
            "quay.io/cilium/cilium:v1.20.0@sha256:383968cd5e8873f7976fa76aa6196045643558f4cc9518a207b9335cb24a0e93",
        ),
        # The chart adds the platform to the repository that it is given, and `override` is taken as it is.
        ChartImage(
            image="quay.io/cilium/operator-generic:v1.20.0"
            "@sha256:80744a8cc7c91c2f9e6347629406844eb35d79b30a732c6d41c15b17232a74f3",
            values={"operator.image.override": "image"},
        ),
    ),
    NETWORK_OPERATOR.name: (
        _operand("operator", f"{_NVIDIA}/cloud-native/network-operator:v{NETWORK_OPERATOR.version}"),
        _operand(
            "operator.ofedDriver.initContainer",
            f"{MELLANOX}/network-operator-init-container:network-operator-v{NETWORK_OPERATOR.version}",
            use="asked",
        ),
    ),
    ROOK_CEPH.name: (
        _repository("image", f"docker.io/rook/ceph:{ROOK_CEPH.version}"),
        _repository(
            "ceph-csi-operator.controllerManager.manager.image",
            f"quay.io/cephcsi/ceph-csi-operator:v{CEPH_CSI_DRIVERS.version}",
        ),
        _csi("cephcsi", "quay.io/cephcsi/cephcsi:v3.17.0", use="asked"),
        _csi("registrar", "registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.17.0", use="asked"),
        _csi("provisioner", "registry.k8s.io/sig-storage/csi-provisioner:v6.2.0", use="asked"),
        _csi("attacher", "registry.k8s.io/sig-storage/csi-attacher:v4.12.0", use="asked"),
        _csi("resizer", "registry.k8s.io/sig-storage/csi-resizer:v2.1.0", use="asked"),
        _csi("snapshotter", "registry.k8s.io/sig-storage/csi-snapshotter:v8.5.0", use="asked"),
        # What Ceph's own add-ons do is not asked for.
        _csi("csiAddons", "quay.io/csiaddons/k8s-sidecar:v0.14.0", use="named"),
    ),
    LOCAL_STATIC_PROVISIONER.name: (
        ChartImage(
            image=f"registry.k8s.io/sig-storage/local-volume-provisioner:v{LOCAL_STATIC_PROVISIONER.version}",
            values={"image": "image"},
        ),
    ),
}
"""Images by chart. Charts without pods are not here, nor is that of Ceph's drivers, whose images Rook's chart names."""
