"""What kubeadm gives the API server of a control plane machine: its own arguments, and the machine's files they name.

Source: kubeadm.k8s.io/v1beta4, ControlPlaneComponent (`extraArgs`; `extraVolumes`, whose `hostPath` the kubelet mounts
at `mountPath` in the static pod, which sees no other file of the machine but kubeadm's own).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal.processes import StartError


def arguments(cluster: Mapping[str, Any], disk: Path, written: Path) -> dict[str, str]:
    """The flags of a ClusterConfiguration's API server, by name: files are read where they lie on the machine's `disk`,
    what it writes lies in `written`. Raises StartError for a path that no volume brings into the pod.
    """
    server = cluster.get("apiServer") or {}
    volumes = server.get("extraVolumes") or ()
    return {
        str(each["name"]): _seen(str(each["value"]), volumes, disk, written) for each in server.get("extraArgs") or ()
    }


def _seen(value: str, volumes: Sequence[Mapping[str, Any]], disk: Path, written: Path) -> str:
    if not value.startswith("/"):
        return value
    for each in volumes:
        if (path := Path(value)).is_relative_to(each["mountPath"]):
            below = path.relative_to(each["mountPath"])
            if not each.get("readOnly"):
                written.mkdir(parents=True, exist_ok=True)
                return str(written / below)
            return f"{disk}{Path(each['hostPath']) / below}"
    raise StartError(f"kube-apiserver: open {value}: no such file or directory (no extraVolume of kubeadm's brings it)")
