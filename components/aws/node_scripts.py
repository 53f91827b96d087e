"""Shell scripts in the user data of EKS nodes.

Each runs once, before nodeadm starts the kubelet (awslabs/amazon-eks-ami, nodeadm-run.service comes after
cloud-final.service); what it is to do after a reboot it makes a unit of.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LUSTRE_EFA = "gpucluster-lustre-efa"
REGISTRY_LOGIN = "gpucluster-registry-login"
_NODE = Path(__file__).parents[2] / "node"
_SCRIPT = _NODE / "lustre" / "efa.sh"
_RUNSC = _NODE / "sandbox" / "runsc.sh"
_LOGIN = _NODE / "registry" / "login.sh"


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


def sandbox_script(sandbox: SandboxSource) -> str:
    """The script with its arguments. The image has the AWS CLI (amazon-eks-ami, install-worker.sh of AL2023)."""
    first, *rest = _lines(_RUNSC)
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
