"""CloudWatch Logs: the key of a log group must let the service in, and retention is one of a list.

Sources: CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS"; API reference,
CreateLogGroup, PutRetentionPolicy.
"""

from __future__ import annotations

from typing import Any

from moto.logs.exceptions import InvalidParameterException
from moto.logs.models import LogsBackend

from .amend import Amendments
from .kms import key_fault

AMENDMENTS = Amendments()

RETENTION_DAYS = frozenset(
    {1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
)


@AMENDMENTS.around(LogsBackend, "create_log_group")
def create_log_group(original: Any, self: Any, log_group_name: str, tags: Any, **kwargs: Any) -> Any:
    """A KMS key must exist, be enabled, and its policy must allow ``logs.<region>.amazonaws.com``."""
    key = kwargs.get("kmsKeyId")
    fault = key_fault(self.region_name, key, f"logs.{self.region_name}.amazonaws.com") if key else ""
    if fault:
        raise InvalidParameterException(
            f"The specified KMS Key Id could not be found or is not allowed to be used ({fault})", "kmsKeyId", key
        )
    return original(self, log_group_name, tags or {}, **kwargs)


@AMENDMENTS.around(LogsBackend, "put_retention_policy")
def put_retention_policy(original: Any, self: Any, log_group_name: str, retention_in_days: Any) -> None:
    """Only the listed numbers of days."""
    if int(retention_in_days) not in RETENTION_DAYS:
        constraint = f"Member must satisfy enum value set: {sorted(RETENTION_DAYS)}"
        raise InvalidParameterException(constraint, "retentionInDays", retention_in_days)
    original(self, log_group_name, int(retention_in_days))
