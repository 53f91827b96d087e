"""A bundle as the program sends it, put together from the files of node/host, with the variables of a GPU node."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

HOST = Path(__file__).resolve().parents[3] / "node" / "host"

CONCERNS = (
    *("checks", "packages", "modules", "sysctls", "bmc-network", "swap", "containerd", "memlock", "acs", "time"),
    *("rails", "nvme", "fabric-manager", "persistence", "clocks", "kubelet"),
)
"""What a GPU node gets before it joins, in an order that works."""

VARIABLES = {
    "SERIAL": "SER-1",
    "OS": "ubuntu-22.04 ubuntu-24.04",
    "MIN_KERNEL": "6.8.0",
    "MIN_FREE_GIB": "0",
    "MEMORY_GIB": "2048",
    "IOMMU": "off",
    "MODULES": "overlay br_netfilter",
    "BLACKLIST": "nouveau",
    "SYSCTLS": "net.bridge.bridge-nf-call-iptables=1\nnet.ipv4.ip_forward=1\nvm.max_map_count=262144",
    "BMC_CIDR": "10.20.4.0/22",
    "BMC_FROM": "all",
    "PAUSE_IMAGE": "registry.k8s.io/pause:3.10.1",
    "DOWNLOADS": "5",
    "NTP": "10.20.0.1 10.20.0.2",
    "MAX_SKEW": "0.5",
    "PACKAGES": "containerd.io=2.2.1-1~ubuntu.24.04~noble chrony= "
    "kubelet=1.36.3-1.1 kubeadm=1.36.3-1.1 kubectl=1.36.3-1.1",
    "KUBERNETES_MINOR": "1.36",
    "KEEP": "nvidia-* linux-image-*",
    "RAILS": "0000:18:00.0=rail0 0000:40:00.0=rail1",
    "NVME": "/dev/nvme1n1 /dev/nvme2n1",
    "NVME_MOUNT": "/var/lib/scratch",
    "ALLOW_FORMAT": "SER-1",
    "GPU_CLOCKS": "210,1755",
    "GPU_WATTS": "650",
    "KUBELET": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static",
    "DRAINED": "no",
    "LOCAL_VOLUMES": "2",
    "LOCAL_VOLUMES_PATH": "/mnt/local-volumes",
    "SHARED_KIND": "nfs",
    "SHARED_SOURCE": "nfs.example.com:/export",
    "SHARED_PATH": "/mnt/shared",
    "LEAVING": "",
    "CONTROL_PLANE_PEERS": "",
    "LUSTRE_PARAMETERS": "osc.*.max_pages_per_rpc=1024",
    "LUSTRE_STRIPES": "",
    "LNET": "o2ib=10.22.0.31 tcp=10.20.0.31",
    "LUSTRE_RELEASE": "2.16.1",
    "LUSTRE_FSNAME": "shared",
    "LUSTRE_STANDBY": "",
    "GENERATION": "one",
}


def bundle(
    concerns: Sequence[str] = CONCERNS, variables: Mapping[str, str] | None = None, *, unset: Sequence[str] = ()
) -> str:
    """The text for `bash -s`; `variables` change or add to the usual ones."""
    given = {name: value for name, value in {**VARIABLES, **(variables or {})}.items() if name not in unset}
    header = "".join(f"GPUCLUSTER_{name}={shlex.quote(value)}\n" for name, value in given.items())
    parts = [(HOST / f"{name}.sh").read_text() for name in ("lib", *concerns)]
    return "\n".join([header, *parts, f"run_concerns {shlex.join(concerns)}\n"])
