"""Containers that copy between S3 and the shared file system."""

from typing import Any

import pulumi_kubernetes as k8s


def copying_container(image: str, name: str, command: list[str], **rest: Any) -> k8s.core.v1.ContainerArgs:
    """One of the AWS CLI's image that says in its pod's status what it printed last, if it fails."""
    core = k8s.core.v1
    return core.ContainerArgs(
        name=name,
        image=image,
        command=command,
        termination_message_policy="FallbackToLogsOnError",
        resources=core.ResourceRequirementsArgs(
            requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "2", "memory": "2Gi"}
        ),
        security_context=core.SecurityContextArgs(
            allow_privilege_escalation=False, capabilities=core.CapabilitiesArgs(drop=["ALL"])
        ),
        **rest,
    )
