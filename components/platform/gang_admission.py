"""Waits until Volcano's admission webhooks answer, before queues and gangs are created (LF16).

Volcano's chart gives its webhook server no readiness probe, so a release counts as deployed, also after an upgrade,
before the server listens, and whatever is written then is refused with "failed calling webhook".
"""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.kubectl import KubectlJobArgs, kubectl_job, rights

QUEUE = "queues.scheduling.volcano.sh/default"
"""Volcano's controllers make it when they start."""
THERE = ["wait", "--for=create", "--timeout=300s", QUEUE]
ADMITTED = ["patch", QUEUE, "--type=merge", '--patch={"spec":{"weight":1}}', "--dry-run=server"]
"""A write that goes through the webhooks and changes nothing."""
MINUTES = 15


@dataclass(frozen=True, kw_only=True)
class GangAdmissionArgs:
    """`scheduler` is Volcano's release; another `revision` of it is asked anew."""

    namespace: pulumi.Input[str]
    image: str
    revision: str
    scheduler: pulumi.Resource


class GangAdmission(Component):
    """Asks for a change of the default queue until it is admitted. `ready` is what exists then."""

    ready: k8s.batch.v1.Job

    def __init__(self, name: str, args: GangAdmissionArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        job = KubectlJobArgs(
            namespace=args.namespace,
            image=args.image,
            rights=[rights("scheduling.volcano.sh", "queues", ("get", "list", "watch", "patch"), ["default"])],
            first={"there": THERE},
            commands={"admitted": ADMITTED},
            minutes=MINUTES,
            revision=args.revision,
            after=[args.scheduler],
        )
        self.ready = kubectl_job(self, "wait", job)
        self.register_outputs({})
