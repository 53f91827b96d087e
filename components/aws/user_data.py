"""User data of EKS nodes: parts of a MIME message, which EKS merges with its own for managed nodes.

A NodeConfig is nodeadm's. A shell script runs once, before nodeadm starts the kubelet (awslabs/amazon-eks-ami,
nodeadm-run.service comes after cloud-final.service); what it is to do after a reboot it makes a unit of.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pulumi

from components.platform import node_cpus
from components.platform.taints import Taint

BOUNDARY = "gpucluster-node-config"
LUSTRE_EFA = "gpucluster-lustre-efa"
REGISTRY_LOGIN = "gpucluster-registry-login"
_NODE = Path(__file__).parents[2] / "node"
_SCRIPT = _NODE / "lustre" / "efa.sh"
_RUNSC = _NODE / "sandbox" / "runsc.sh"
_LOGIN = _NODE / "registry" / "login.sh"
_RUNTIME = """\
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runsc]
runtime_type = "io.containerd.runsc.v1"
"""
"""Merged by nodeadm with its own file, which is of version 3 (amazon-eks-ami,
nodeadm/internal/containerd/config2.template.toml); gVisor user guide, "Containerd Quick Start"."""


@dataclass(frozen=True, kw_only=True)
class SandboxSource:
    """gVisor's programs: s3://BUCKET/FOLDER, and the SHA-256 of runsc and of its shim."""

    source: str
    runsc_sha256: str
    shim_sha256: str


@dataclass(frozen=True, kw_only=True)
class MirrorLogin:
    """Where a node reads who it is at `registry`, HOST[:PORT]: the ARN of a secret, and the stack's region."""

    registry: str
    secret_arn: str
    region: str


def raid_config() -> dict[str, object]:
    """NodeConfig of nodeadm that makes one RAID 0 of all local NVMe and moves kubelet and containerd onto it.

    It says nothing of pods: EKS' own maxPods wins over it (EKS user guide, "How maxPods is determined").
    """
    spec = {"instance": {"localStorage": {"strategy": "RAID0"}}}
    return _of_node(spec)


@dataclass(frozen=True, kw_only=True)
class OwnImage:
    """An AMI of the user's own, and what its nodes join: EKS merges nothing into the user data of such a node.

    `authority` is in base64. The kubelet takes `max_pods`.
    """

    ami: str
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


def sandbox_script(sandbox: SandboxSource) -> str:
    """The script with its arguments. The image has the AWS CLI (amazon-eks-ami, install-worker.sh of AL2023)."""
    first, *rest = _RUNSC.read_text(encoding="utf-8").splitlines()
    return "\n".join([first, f"set -- {sandbox.source} {sandbox.runsc_sha256} {sandbox.shim_sha256}", *rest])


def lustre_script(interfaces: int) -> str:
    """A script that leaves another one, and a unit that runs it now and at each boot, before the kubelet.

    A node on which it fails mounts over TCP; the unit's state and journal say why.
    """
    path = f"/usr/local/sbin/{LUSTRE_EFA}"
    return "\n".join(
        [
            "#!/bin/bash",
            *_file(path, _lines(_SCRIPT), end="SCRIPT"),
            f"chmod 755 {path}",
            *_file(
                f"/etc/systemd/system/{LUSTRE_EFA}.service",
                (
                    "[Unit]",
                    "Description=Lustre over EFA (gpucluster)",
                    "Wants=network-online.target",
                    "After=network-online.target",
                    "Before=kubelet.service",
                    "",
                    "[Service]",
                    "Type=oneshot",
                    "RemainAfterExit=yes",
                    f"ExecStart={path} {interfaces}",
                    "",
                    "[Install]",
                    "WantedBy=multi-user.target",
                ),
            ),
            "systemctl daemon-reload",
            f"systemctl enable --now {LUSTRE_EFA}.service",
        ]
    )


def login_script(login: MirrorLogin) -> str:
    """A script that leaves another one, which runs each time before the kubelet starts, when nodeadm has mounted what
    is below its directory, and once an hour. A kubelet starts without a login where there is none to be had.
    """
    path, units = f"/usr/local/sbin/{REGISTRY_LOGIN}", "/etc/systemd/system"
    call = f"{path} {login.secret_arn} {login.region} {login.registry}"
    about = f"Description=Login at {login.registry} (gpucluster)"
    return "\n".join(
        [
            "#!/bin/bash",
            *_file(path, _lines(_LOGIN), end="SCRIPT"),
            f"chmod 755 {path}",
            f"mkdir -p {units}/kubelet.service.d",
            *_file(f"{units}/kubelet.service.d/50-{REGISTRY_LOGIN}.conf", ("[Service]", f"ExecStartPre=-{call}")),
            *_file(
                f"{units}/{REGISTRY_LOGIN}.service",
                ("[Unit]", about, "", "[Service]", "Type=oneshot", f"ExecStart={call}"),
            ),
            *_file(
                f"{units}/{REGISTRY_LOGIN}.timer",
                (
                    *("[Unit]", about, "", "[Timer]", "OnCalendar=hourly", "RandomizedDelaySec=10min"),
                    *("", "[Install]", "WantedBy=timers.target"),
                ),
            ),
            "systemctl daemon-reload",
            f"systemctl enable --now {REGISTRY_LOGIN}.timer",
        ]
    )


@cache
def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8").splitlines())


def _file(path: str, lines: Iterable[str], end: str = "UNIT") -> Iterator[str]:
    """Lines of bash that write a file in which no line is `end`."""
    yield from (f"cat > {path} <<'{end}'", *lines, end)


def user_data(**further: Any) -> str | None:
    """The `message` in base64, as a launch template wants it; None where there is nothing to say."""
    text = message(**further)
    return _encoded(text) if text else None


def own_user_data(
    own: OwnImage, labels: Mapping[str, str], taints: Sequence[Taint], **further: Any
) -> pulumi.Output[str]:
    """The same for nodes of an image of the user's own, with how they join; `further` is as `message` takes it."""
    known = {"cluster": own.cluster, "endpoint": own.endpoint, "authority": own.authority, "services": own.services}
    kubelet = join_kubelet(own.max_pods, labels, taints)
    return pulumi.Output.all(**known).apply(
        lambda told: _encoded(_written([_config(join_config(kubelet=kubelet, **told)), *_parts(**further)]))
    )


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
    reads who it is at the mirror. With `exclusive_spare_millicores` pods have their CPUs to themselves, so much apart.
    JSON is YAML, and does not depend on a YAML writer.
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
) -> Iterator[tuple[str, str]]:
    if raid:
        yield _config(raid_config())
    if exclusive_spare_millicores:
        yield _config(cpus_config(exclusive_spare_millicores))
    if sandbox:
        yield _config(sandbox_config())
        yield 'text/x-shellscript; charset="us-ascii"', sandbox_script(sandbox)
    if lustre_efa:
        yield 'text/x-shellscript; charset="us-ascii"', lustre_script(lustre_efa)
    if login:
        yield 'text/x-shellscript; charset="us-ascii"', login_script(login)
