"""CloudWatch Logs: the key of a log group must let the service in, and retention is one of a list.

Sources: CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS"; API reference,
CreateLogGroup, AssociateKmsKey, PutRetentionPolicy.
"""

from typing import Any

from moto.logs.exceptions import InvalidParameterException, ResourceNotFoundException
from moto.logs.models import LogsBackend
from moto.logs.responses import LogsResponse

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.kms import key_fault

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
        raise _unusable(fault, key)
    return original(self, log_group_name, tags or {}, **kwargs)


@AMENDMENTS.operation(LogsResponse)
def associate_kms_key(self: Any) -> str:
    """AssociateKmsKey: from now on the group is encrypted, with a key of which the same is asked."""
    group, key = _group(self), self._get_param("kmsKeyId")
    if fault := key_fault(self.region, key, f"logs.{self.region}.amazonaws.com"):
        raise _unusable(fault, key)
    group.kms_key_id = key
    return ""


@AMENDMENTS.operation(LogsResponse)
def disassociate_kms_key(self: Any) -> str:
    """DisassociateKmsKey: what comes from now on is not encrypted with a key of the account's."""
    _group(self).kms_key_id = None
    return ""


def _group(response: Any) -> Any:
    groups = response.logs_backend.groups
    name = response._get_param("logGroupName")
    if name not in groups:
        raise ResourceNotFoundException
    return groups[name]


def _unusable(fault: str, key: Any) -> InvalidParameterException:
    return InvalidParameterException(
        f"The specified KMS Key Id could not be found or is not allowed to be used ({fault})", "kmsKeyId", key
    )


@AMENDMENTS.around(LogsBackend, "put_retention_policy")
def put_retention_policy(original: Any, self: Any, log_group_name: str, retention_in_days: Any) -> None:
    """Only the listed numbers of days."""
    if int(retention_in_days) not in RETENTION_DAYS:
        constraint = f"Member must satisfy enum value set: {sorted(RETENTION_DAYS)}"
        raise InvalidParameterException(constraint, "retentionInDays", retention_in_days)
    original(self, log_group_name, int(retention_in_days))
