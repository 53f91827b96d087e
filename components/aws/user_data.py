"""User data of EKS nodes: parts of a MIME message, which EKS merges with its own for managed nodes.

A NodeConfig is nodeadm's. A shell script runs once, before nodeadm starts the kubelet (awslabs/amazon-eks-ami,
nodeadm-run.service comes after cloud-final.service); what it is to do after a reboot it makes a unit of.
"""

import base64
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

BOUNDARY = "gpucluster-node-config"
LUSTRE_EFA = "gpucluster-lustre-efa"
_SCRIPT = Path(__file__).parents[2] / "node" / "lustre" / "efa.sh"


def raid_config() -> dict[str, object]:
    """NodeConfig of nodeadm that makes one RAID 0 of all local NVMe and moves kubelet and containerd onto it.

    It says nothing of pods: EKS' own maxPods wins over it (EKS user guide, "How maxPods is determined").
    """
    spec = {"instance": {"localStorage": {"strategy": "RAID0"}}}
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}


def lustre_script(interfaces: int) -> str:
    """A script that leaves another one, and a unit that runs it now and at each boot, before the kubelet.

    A node on which it fails mounts over TCP; the unit's state and journal say why.
    """
    path = f"/usr/local/sbin/{LUSTRE_EFA}"
    return "\n".join(
        [
            "#!/bin/bash",
            f"cat > {path} <<'SCRIPT'",
            *_own_script(),
            "SCRIPT",
            f"chmod 755 {path}",
            f"cat > /etc/systemd/system/{LUSTRE_EFA}.service <<'UNIT'",
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
            "UNIT",
            "systemctl daemon-reload",
            f"systemctl enable --now {LUSTRE_EFA}.service",
        ]
    )


@cache
def _own_script() -> tuple[str, ...]:
    return tuple(_SCRIPT.read_text(encoding="utf-8").splitlines())


def user_data(*, raid: bool = True, lustre_efa: int = 0) -> str | None:
    """The MIME message in base64, as a launch template wants it; None where there is nothing to say.

    `lustre_efa` EFA interfaces of a node are Lustre's too. JSON is YAML, and does not depend on a YAML writer.
    """
    parts = list(_parts(raid=raid, lustre_efa=lustre_efa))
    if not parts:
        return None
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"', ""]
    for kind, text in parts:
        lines += [f"--{BOUNDARY}", f"Content-Type: {kind}", "", text, ""]
    return base64.b64encode("\r\n".join([*lines, f"--{BOUNDARY}--", ""]).encode()).decode()


def _parts(*, raid: bool, lustre_efa: int) -> Iterator[tuple[str, str]]:
    if raid:
        yield "application/node.eks.aws", json.dumps(raid_config(), indent=2, sort_keys=True)
    if lustre_efa:
        yield 'text/x-shellscript; charset="us-ascii"', lustre_script(lustre_efa)
