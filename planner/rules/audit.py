"""The control plane's log, and how long it can be read."""

from collections.abc import Iterable

from planner.draft import AwsDraft, aws_warning
from planner.findings import Observation


@aws_warning(
    "Y10",
    formula="security.auditLog is set, if lifecycle.protect",
    source="EKS best practices guide, Detective controls: retain control-plane logs for as long as investigations need",
)
def audit_log_goes(draft: AwsDraft) -> Iterable[Observation]:
    """The audit log of a protected cluster is kept after the cluster is gone, or a waiver says why not."""
    if draft.settings.lifecycle.protect and draft.settings.security.audit_log is None:
        yield Observation(
            path="security.auditLog",
            sentence="the log of who did what in the cluster is deleted after 30 days, and with the stack",
            remedy="set security.auditLog.keyArn to a KMS key that CloudWatch Logs may use, and not the stack's",
        )
