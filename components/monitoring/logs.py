"""Logs of pods and nodes: Fluent Bit on every node, and on to where the platform keeps them (X09)."""

from typing import Any

import pulumi

from components.monitoring.stack_values import Request

INPUTS = """[INPUT]
    Name tail
    Path /var/log/containers/*.log
    Exclude_Path /var/log/containers/fluent-bit-*.log
    multiline.parser docker, cri
    Tag kube.*
    DB /var/log/fluent-bit-pods.db
    Mem_Buf_Limit 20MB
    Skip_Long_Lines On

[INPUT]
    Name systemd
    Tag host.*
    Systemd_Filter _SYSTEMD_UNIT=kubelet.service
    Systemd_Filter _SYSTEMD_UNIT=containerd.service
    Systemd_Filter _TRANSPORT=kernel
    Systemd_Filter_Type Or
    DB /var/log/fluent-bit-host.db
    Read_From_Tail On
"""
"""Pods' logs but its own, which would feed themselves; of the node kubelet, containerd and the kernel, whose lines have
the GPUs' XIDs. Where it stopped reading stays on the node, so that a restart neither loses nor repeats.
Source: Fluent Bit manual, inputs tail and systemd."""


AUDIT = """
[INPUT]
    Name tail
    Path {path}
    Tag audit.*
    DB /var/log/fluent-bit-audit.db
    Mem_Buf_Limit 20MB
    Skip_Long_Lines On
    Buffer_Max_Size 1MB
    Read_from_Head On
"""
"""Events of Kubernetes' audit log, a line each: longer than other lines, and read from the beginning, so that none from
before the collector is lost. Other nodes have no such files, which is no error."""


def fluent_bit_values(
    account: pulumi.Input[str], outputs: pulumi.Input[str], request: Request, *, every_s: int, audit: str | None = None
) -> dict[str, Any]:
    """Values of the `fluent-bit` chart: pods of `account` send what they read to `outputs`, sections of its own
    configuration, in which ${NODE_NAME} is the node's. It runs on every node, whatever its taints, before what makes a
    node full. On control-plane nodes on premises, `audit` are the files of the API server's audit log.
    """
    return {
        "serviceAccount": {"name": account},
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "config": {"inputs": f"{INPUTS}{AUDIT.format(path=audit)}" if audit else INPUTS, "outputs": outputs},
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
        "resources": request.resources,
        "serviceMonitor": {"enabled": True, "interval": f"{every_s}s"},
    }
