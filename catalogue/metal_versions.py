"""Versions of what only owned machines run: their packages, and the charts that a managed cluster brings by itself."""

from dataclasses import dataclass

from catalogue.versions import Chart

KUBERNETES_IMAGES = "registry.k8s.io"
"""Where kubeadm pulls from by itself."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A minor of Kubernetes as machines install it: the patch, its Debian revision at pkgs.k8s.io, and the tags of what
    kubeadm runs beside it.
    """

    version: str
    revision: str
    pause: str
    etcd: str
    coredns: str
    source: str

    @property
    def images(self) -> tuple[str, ...]:
        """Every image that kubeadm pulls."""
        parts = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
        own = (f"{KUBERNETES_IMAGES}/{part}:v{self.version}" for part in parts)
        beside = (f"{KUBERNETES_IMAGES}/etcd:{self.etcd}", f"{KUBERNETES_IMAGES}/coredns/coredns:{self.coredns}")
        return (*own, *beside, self.pause)


RELEASES = {
    "1.36": Release(
        # renovate: datasource=github-releases depName=kubernetes/kubernetes
        version="1.36.3",
        revision="1.1",
        pause="registry.k8s.io/pause:3.10.2",
        etcd="3.6.8-0",
        coredns="v1.14.2",
        source="https://pkgs.k8s.io/core:/stable:/v1.36/deb; cmd/kubeadm/app/constants/constants.go, PauseVersion, "
        "DefaultEtcdVersion, CoreDNSVersion",
    ),
}
"""Minors that machines can be given."""

CILIUM = Chart(
    name="cilium",
    # renovate: datasource=helm registryUrl=https://helm.cilium.io depName=cilium
    version="1.20.0",
    repository="https://helm.cilium.io",
)
NETWORK_OPERATOR = Chart(
    name="network-operator",
    # renovate: datasource=helm registryUrl=https://helm.ngc.nvidia.com/nvidia depName=network-operator
    version="26.4.1",
    repository="https://helm.ngc.nvidia.com/nvidia",
)
LOCAL_STATIC_PROVISIONER = Chart(
    name="local-static-provisioner",
    # renovate: datasource=helm registryUrl=https://kubernetes-sigs.github.io/sig-storage-local-static-provisioner
    version="2.9.0",
    repository="https://kubernetes-sigs.github.io/sig-storage-local-static-provisioner",
)
ROOK_CEPH = Chart(
    name="rook-ceph",
    # renovate: datasource=helm registryUrl=https://charts.rook.io/release depName=rook-ceph
    version="v1.20.6",
    repository="https://charts.rook.io/release",
)
CEPH_CSI_DRIVERS = Chart(
    name="ceph-csi-drivers",
    # renovate: datasource=helm registryUrl=https://ceph.github.io/ceph-csi-operator depName=ceph-csi-drivers
    version="1.0.4",
    repository="https://ceph.github.io/ceph-csi-operator",
)
METAL_CHARTS = {
    each.name: each for each in (CILIUM, NETWORK_OPERATOR, LOCAL_STATIC_PROVISIONER, ROOK_CEPH, CEPH_CSI_DRIVERS)
}
"""Every chart above, by its name."""

LUSTRE_RELEASE = "2.16.1-1"
"""Packages of Lustre's servers as `make debs` of that tag names them (lustre-release, debian/changelog), with ZFS."""

MELLANOX = "nvcr.io/nvidia/mellanox"
"""Where the operator's components are."""

DOCA_DRIVER = "doca3.4.1-26.04-1.1.0.0-1"
"""The drivers' container of that Network Operator (hack/release.yaml at v26.4.1, Mofed)."""

# renovate: datasource=docker depName=ghcr.io/kube-vip/kube-vip
KUBE_VIP_IMAGE = "ghcr.io/kube-vip/kube-vip:v1.2.3"

# renovate: datasource=docker depName=quay.io/ceph/ceph
CEPH_IMAGE = "quay.io/ceph/ceph:v20.2.4"
"""What that Rook's own example runs (deploy/examples/cluster.yaml)."""

# renovate: datasource=go depName=github.com/kubernetes-csi/external-snapshotter/client/v8
SNAPSHOTTER = "v8.6.0"
SNAPSHOT_CONTROLLER_IMAGE = "registry.k8s.io/sig-storage/snapshot-controller:v8.5.0"
"""What deploy/kubernetes/snapshot-controller/setup-snapshot-controller.yaml of that tag names."""

SNAPSHOT_CRDS = {
    "volumesnapshotclasses": "75e6565aac2c0f2949ed13ea884bbaa388cb7be576b558b709cf1168e011828d",
    "volumesnapshotcontents": "895a3c1e73b60f06a0deb566dd123d01bdf1b2efc5d5ff5231ff8bbcf42dafc7",
    "volumesnapshots": "b032116e987fb1d7d93cec7d942833adeb9d95c9bdc7e00c10b280c2fe4a6c33",
}
"""The kinds of single snapshots, by their plural names, with the SHA-256 of client/config/crd/ at that tag, from the Go
module of that directory, whose content Go's checksum database vouches for."""


def network_image(name: str) -> str:
    """A part of that Network Operator (hack/release.yaml at v26.4.1)."""
    return f"{MELLANOX}/{name}:network-operator-v{NETWORK_OPERATOR.version}"


NETWORK_OPERANDS = (network_image("k8s-rdma-shared-dev-plugin"), f"{MELLANOX}/doca-driver:{DOCA_DRIVER}")
"""What the Network Operator runs for the program's NicClusterPolicy. It finds the drivers' image by the kernel and the
system of a node, which it adds to this tag (manifests/state-ofed-driver)."""

OWN_PORT_OPERANDS = (
    *(network_image(each) for each in ("multus-cni", "plugins", "nvidia-k8s-ipam", "sriov-network-device-plugin")),
    f"{MELLANOX}/doca-driver:{DOCA_DRIVER}",
)
"""The same where pods get ports of their own."""

SRIOV_IMAGES = {
    "operator": network_image("sriov-network-operator"),
    "sriovConfigDaemon": network_image("sriov-network-operator-config-daemon"),
    "sriovCni": network_image("sriov-cni"),
    "ibSriovCni": network_image("ib-sriov-cni"),
    "ovsCni": network_image("ovs-cni-plugin"),
    "rdmaCni": network_image("rdma-cni"),
    "sriovDevicePlugin": network_image("sriov-network-device-plugin"),
}
"""Images of the chart's part that makes virtual functions, by the names that its values give them; its web hooks and
its exporter are left out."""
