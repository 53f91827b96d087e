"""User data of EKS nodes: parts of a MIME message, which EKS merges with its own for managed nodes.

A NodeConfig is nodeadm's; shell scripts are in `components/aws/node_scripts.py`.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pulumi

from components.aws.node_scripts import MirrorLogin, SandboxSource, login_script, lustre_script, sandbox_script
from components.platform import node_cpus
from components.platform.taints import Taint

BOUNDARY = "gpucluster-node-config"
_IMAGE = "eks.amazonaws.com/nodegroup-image"
_RUNTIME = """\
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runsc]
runtime_type = "io.containerd.runsc.v1"
"""
"""Merged by nodeadm with its own file, which is of version 3 (amazon-eks-ami,
nodeadm/internal/containerd/config2.template.toml); gVisor user guide, "Containerd Quick Start"."""


def raid_config() -> dict[str, object]:
    """NodeConfig of nodeadm that makes one RAID 0 of all local NVMe and moves kubelet and containerd onto it.

    It says nothing of pods: EKS' own maxPods wins over it (EKS user guide, "How maxPods is determined").
    """
    spec = {"instance": {"localStorage": {"strategy": "RAID0"}}}
    return _of_node(spec)


@dataclass(frozen=True, kw_only=True)
class OwnImage:
    """An AMI of the user's own, and what its nodes join: EKS merges nothing into the user data of such a node.

    `ami` is its id, `authority` is in base64. The kubelet takes `max_pods`.
    """

    ami: pulumi.Input[str]
    cluster: pulumi.Input[str]
    endpoint: pulumi.Input[str]
    authority: pulumi.Input[str]
    services: pulumi.Input[str]
    max_pods: int


def join_config(
    *, cluster: str, endpoint: str, authority: str, services: str, kubelet: Mapping[str, object]
) -> dict[str, object]:
    """NodeConfig of nodeadm by which a node finds its cluster: without one of the four it does not start
    (amazon-eks-ami, nodeadm/internal/api/validator.go).
    """
    where = {"name": cluster, "apiServerEndpoint": endpoint, "certificateAuthority": authority, "cidr": services}
    spec = {"cluster": where, "kubelet": kubelet}
    return _of_node(spec)


def join_kubelet(max_pods: int, labels: Mapping[str, str], taints: Sequence[Taint]) -> dict[str, object]:
    """What a kubelet registers with. EKS adds labels and taints of a node group half a minute after the node is there
    where the image is not its own (aws/containers-roadmap, issue 1962), and meanwhile any pod may come.
    """
    said = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    kept = [asdict(each) for each in taints]
    return {"config": {"maxPods": max_pods, "registerWithTaints": kept}, "flags": [f"--node-labels={said}"]}


def cpus_config(spare_millicores: int) -> dict[str, object]:
    """NodeConfig of nodeadm by which pods have their CPUs to themselves; `kubeReserved` stays nodeadm's."""
    return _of_node({"kubelet": {"config": node_cpus.exclusive(spare_millicores)}})


def sandbox_config() -> dict[str, object]:
    """NodeConfig of nodeadm by which containerd knows gVisor's runtime as `runsc`."""
    spec = {"containerd": {"config": _RUNTIME}}
    return _of_node(spec)


def pulls_config() -> dict[str, object]:
    """NodeConfig of nodeadm by which layers of an image are got and unpacked side by side: SOCI becomes containerd's
    snapshotter, whose directory is on the array of local NVMe (amazon-eks-ami, nodeadm/internal/containerd/config.go;
    templates/al2023/runtime/bin/setup-local-disks). The gate is experimental by nodeadm's own word.
    """
    return _of_node({"featureGates": {"FastImagePull": True}})


def user_data(**further: Any) -> str | None:
    """The `message` in base64, as a launch template wants it; None where there is nothing to say."""
    text = message(**further)
    return _encoded(text) if text else None


def own_user_data(
    own: OwnImage, labels: Mapping[str, str], taints: Sequence[Taint], **further: Any
) -> pulumi.Output[str]:
    """The same for nodes of an image of the user's own, with how they join and the label of their image; `further` is
    as `message` takes it.
    """
    known = {"cluster": own.cluster, "endpoint": own.endpoint, "authority": own.authority, "services": own.services}

    def written(told: Mapping[str, str]) -> str:
        kubelet = join_kubelet(own.max_pods, {**labels, _IMAGE: told["ami"]}, taints)
        where = {name: told[name] for name in known}
        joining = _config(join_config(**where, kubelet=kubelet))
        return _encoded(_written([joining, *_parts(**further)]))

    return pulumi.Output.all(ami=own.ami, **known).apply(written)


def bottlerocket_data(*, raid: bool, hugepages: int) -> str | None:
    """Bottlerocket's settings in TOML, which EKS merges with its own, in base64; None where there is nothing to say.

    Local NVMe becomes one array below kubelet and containerd at each boot if `raid` (Karpenter,
    pkg/providers/amifamily/bootstrap/bottlerocket.go); `hugepages` of 2 MiB are for EFA (EKS user guide, "Using
    Bottlerocket with EFA").
    """
    lines: list[str] = []
    if raid:
        array = ["apiclient", "ephemeral-storage"]
        kept = ["/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"]
        commands = json.dumps([[*array, "init"], [*array, "bind", "--dirs", *kept]])
        lines += ["[settings.bootstrap-commands.local-nvme]", f"commands = {commands}"]
        lines += ["essential = true", 'mode = "always"']
    if hugepages:
        lines += ["[settings.kernel.sysctl]", f'"vm.nr_hugepages" = "{hugepages}"']
    return _encoded("\n".join([*lines, ""])) if lines else None


def message(**further: Any) -> str | None:
    """The MIME message; None where there is nothing to say. Local NVMe becomes one array unless `raid` is False.

    `lustre_efa` EFA interfaces of a node are Lustre's too; `sandbox` is where gVisor comes from, `login` where the node
    reads who it is at the mirror. With `exclusive_spare_millicores` pods have their CPUs to themselves, so much apart,
    with `parallel_pulls` layers of an image come side by side. JSON is YAML, and does not depend on a YAML writer.
    """
    parts = list(_parts(**further))
    return _written(parts) if parts else None


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _written(parts: Iterable[tuple[str, str]]) -> str:
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"', ""]
    for kind, text in parts:
        lines += [f"--{BOUNDARY}", f"Content-Type: {kind}", "", text, ""]
    return "\r\n".join([*lines, f"--{BOUNDARY}--", ""])


def _of_node(spec: Mapping[str, object]) -> dict[str, object]:
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}


def _config(document: Mapping[str, object]) -> tuple[str, str]:
    return "application/node.eks.aws", json.dumps(document, indent=2, sort_keys=True)


def _parts(
    *,
    raid: bool = True,
    lustre_efa: int = 0,
    sandbox: SandboxSource | None = None,
    login: MirrorLogin | None = None,
    exclusive_spare_millicores: int = 0,
    parallel_pulls: bool = False,
) -> Iterator[tuple[str, str]]:
    if raid:
        yield _config(raid_config())
    if parallel_pulls:
        yield _config(pulls_config())
    if exclusive_spare_millicores:
        yield _config(cpus_config(exclusive_spare_millicores))
    if sandbox:
        yield _config(sandbox_config())
        yield 'text/x-shellscript; charset="us-ascii"', sandbox_script(sandbox)
    if lustre_efa:
        yield 'text/x-shellscript; charset="us-ascii"', lustre_script(lustre_efa)
    if login:
        yield 'text/x-shellscript; charset="us-ascii"', login_script(login)
