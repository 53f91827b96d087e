"""Shell scripts in the user data of EKS nodes.

Each runs once, before nodeadm starts the kubelet (awslabs/amazon-eks-ami, nodeadm-run.service comes after
cloud-final.service); what it is to do after a reboot it makes a unit of.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LUSTRE_EFA = "gpucluster-lustre-efa"
LNET = "gpucluster-lnet"
LNET_FILES = "/run/gpucluster"
"""Where a node of an EFA-enabled file system leaves LNet's counters, in Prometheus' text format."""
REGISTRY_LOGIN = "gpucluster-registry-login"
_NODE = Path(__file__).parents[2] / "node"
_SCRIPT = _NODE / "lustre" / "efa.sh"
_COUNTERS = _NODE / "lustre" / "counters.sh"
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
    """A script that leaves two others. One sets the client up, by a unit that runs now and at each boot, before the
    kubelet; a node on which it fails mounts over TCP, and the unit's state and journal say why. The other tells twice a
    minute what LNet carries, in a file below LNET_FILES, which is whole or not there; its unit never fails.
    """
    path, tells, units = f"/usr/local/sbin/{LUSTRE_EFA}", f"/usr/local/sbin/{LNET}", "/etc/systemd/system"
    file = f"{LNET_FILES}/lnet.prom"
    write = f"mkdir -p {LNET_FILES}; {tells} {interfaces} > {file}.new && mv {file}.new {file} || rm -f {file}"
    setup = "Description=Lustre over EFA (gpucluster)"
    counters = "Description=Counters of LNet (gpucluster)"
    return "\n".join(
        [
            "#!/bin/bash",
            *_file(path, _lines(_SCRIPT), end="SCRIPT"),
            *_file(tells, _lines(_COUNTERS), end="SCRIPT"),
            f"chmod 755 {path} {tells}",
            *_file(
                f"{units}/{LUSTRE_EFA}.service",
                (
                    *("[Unit]", setup, "Wants=network-online.target", "After=network-online.target"),
                    *("Before=kubelet.service", "", "[Service]", "Type=oneshot", "RemainAfterExit=yes"),
                    *(f"ExecStart={path} {interfaces}", "", "[Install]", "WantedBy=multi-user.target"),
                ),
            ),
            *_file(
                f"{units}/{LNET}.service",
                (
                    "[Unit]",
                    counters,
                    f"After={LUSTRE_EFA}.service",
                    "",
                    "[Service]",
                    "Type=oneshot",
                    f"ExecStart=/bin/sh -c '{write}'",
                ),
            ),
            *_file(
                f"{units}/{LNET}.timer",
                (
                    *("[Unit]", counters, "", "[Timer]", "OnBootSec=30", "OnUnitActiveSec=30", "AccuracySec=1"),
                    *("", "[Install]", "WantedBy=timers.target"),
                ),
            ),
            "systemctl daemon-reload",
            f"systemctl enable --now {LNET}.timer",
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
