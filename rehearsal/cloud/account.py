"""The one account of a rehearsal: its id, its identities, and the way to moto's state by service and region."""

from datetime import UTC, datetime
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends
from moto.kms.models import kms_backends
from moto.logs.models import logs_backends
from moto.moto_api._internal import mock_random
from moto.s3.models import s3_backends
from moto.sts.models import sts_backends

ACCOUNT: str = DEFAULT_ACCOUNT_ID
PARTITION = "aws"
DEPLOYER_ROLE = "deployer"
DEPLOYER_SESSION = "rehearsal"


def ec2(region: str) -> Any:
    """Moto's EC2 of one region."""
    return ec2_backends[ACCOUNT][region]


def iam() -> Any:
    """Moto's IAM, which has no regions."""
    return iam_backends[ACCOUNT][PARTITION]


def kms(region: str) -> Any:
    """Moto's KMS of one region."""
    return kms_backends[ACCOUNT][region]


def logs(region: str) -> Any:
    """Moto's CloudWatch Logs of one region."""
    return logs_backends[ACCOUNT][region]


def s3() -> Any:
    """Moto's S3, which has no regions."""
    return s3_backends[ACCOUNT][PARTITION]


def secret_of(key: str, token: str | None) -> str | None:
    """The secret of a user's key that is active, or of a role's session with that token; None if there is none."""
    if token is None:
        keys = (each for user in iam().users.values() for each in user.access_keys)
        found = (each.secret_access_key for each in keys if (each.access_key_id, each.status) == (key, "Active"))
    else:
        roles = sts_backends[ACCOUNT][PARTITION].assumed_roles
        found = (each.secret_access_key for each in roles if (each.access_key_id, each.session_token) == (key, token))
    return next(found, None)


def hex_id(prefix: str, digits: int = 17) -> str:
    """A resource id as AWS writes it, ``prefix-`` and hex digits; deterministic after ``/moto-api/seed``."""
    return f"{prefix}-{mock_random.get_random_hex(digits)}"


def uuid() -> str:
    """A UUID from the same source as the ids."""
    return str(mock_random.uuid4())


def now() -> datetime:
    """The present in UTC, as the serializers of all protocols take it."""
    return datetime.now(UTC)


def regions(backends: Any) -> list[tuple[str, Any]]:
    """The regions of a moto service that have been touched, with their state."""
    return list(dict(backends[ACCOUNT]).items())
