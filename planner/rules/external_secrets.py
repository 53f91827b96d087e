"""Secrets that Secrets Manager keeps: what would not be found, would not be read, or would not follow."""

from collections.abc import Iterator

from planner.draft import AwsDraft, aws_rule
from planner.external_secrets import readers
from planner.findings import Observation
from planner.rules.known import answering
from settings.external_secrets import ExternalSecret
from settings.serving import Service, Triton

_GUIDE = "Secrets Manager user guide"
_CONTROLLER = "external-secrets 2.9.0"


def _kept(draft: AwsDraft) -> dict[str, ExternalSecret]:
    wanted = draft.settings.external_secrets
    return dict(wanted.secrets) if wanted else {}


def _path(key: str) -> str:
    return f"externalSecrets.secrets.{key}"


@aws_rule(
    "Y07",
    by_name=True,
    formula="something of the stack reads each secret of externalSecrets",
    source="settings/secrets.py: what names a secret reads it",
)
def external_secret_unread(draft: AwsDraft) -> Iterator[Observation]:
    """A key that is misspelt leaves what was meant without its secret, and the cluster with a right to it."""
    read = {each.key for each in readers(draft.settings)}
    for key in _kept(draft):
        if key not in read:
            yield Observation(
                path=_path(key),
                sentence=f"nothing in this stack reads a secret called {key}",
                remedy=f"remove it; what is read here: {', '.join(sorted(read)) or 'none'}",
                subject=key,
            )


@aws_rule(
    "Y07",
    by_name=True,
    formula="what reads a secret of externalSecrets takes another value of it",
    source="PostgreSQL's and MySQL's images: the password is set when the volume is empty, and never read again",
)
def external_secret_lasting(draft: AwsDraft) -> Iterator[Observation]:
    """A database keeps the password that its volume was made with: a rotated one would lock its clients out."""
    kept = _kept(draft)
    for each in readers(draft.settings):
        if each.lasting and each.key in kept:
            yield Observation(
                path=_path(each.key),
                sentence=f"{each.what} keeps the password that its volume was made with, so its clients would be "
                "locked out when Secrets Manager has another",
                remedy=f"remove it and type pulumi config set --secret gpucluster:{each.key}",
                subject=each.key,
            )


@aws_rule(
    "Y07",
    by_name=True,
    formula="the region of each secret's ARN, and of its key's and its function's, is platform.region",
    source=f"{_CONTROLLER}, providers/v1/aws: a SecretStore asks one region; KMS: a key seals in its own; Secrets"
    " Manager API reference, RotateSecret: it calls functions of its own region",
)
def external_secret_elsewhere(draft: AwsDraft) -> Iterator[Observation]:
    """The cluster asks Secrets Manager of its own region, where a secret of another one is not found."""
    region = draft.settings.platform.region
    for key, each in _kept(draft).items():
        function = each.rotation.function if each.rotation else None
        for name, arn in (("id", each.id), ("keyArn", each.key_arn), ("rotation.function", function)):
            if arn and arn.startswith("arn:") and arn.split(":")[3] != region:
                yield Observation(
                    path=f"{_path(key)}.{name}",
                    sentence=f"{arn} is in {arn.split(':')[3]}, and the stack asks in {region}",
                    remedy=f"replicate the secret to {region}, and name the replica, its key and its function there",
                    subject=key,
                )


@aws_rule(
    "Y07",
    by_name=True,
    each=answering,
    formula="keys of one service are all in externalSecrets, or none is",
    source=f"{_CONTROLLER}, pkg/controllers/externalsecret: one owner writes a Secret",
)
def external_secret_half(draft: AwsDraft, each: Service | Triton) -> Iterator[Observation]:
    """The door reads one Secret, whose keys one side writes: Pulumi, or the controller in the cluster."""
    kept = _kept(draft)
    inside = [key for key in each.keys if key not in kept]
    if inside and len(inside) < len(each.keys):
        yield Observation(
            path="keys",
            sentence=f"{each.name} has {inside[0]} from this file and its other key from Secrets Manager",
            remedy=f"add {inside[0]} to externalSecrets.secrets, or remove the other one there",
        )


@aws_rule(
    "Y07",
    by_name=True,
    formula="keys of callers are different values of Secrets Manager",
    source=f"{_GUIDE}, Rotate: the value before stays valid beside the new one only if both are there",
)
def external_secret_twice(draft: AwsDraft) -> Iterator[Observation]:
    """Two keys with one value cannot be rotated one after the other, and let callers of one service into another."""
    kept = _kept(draft)
    seen: dict[tuple[str, str | None], str] = {}
    for each in readers(draft.settings):
        if not each.path.startswith("serving.") or ".keys[" not in each.path or each.key not in kept:
            continue
        value = kept[each.key].id, kept[each.key].property
        other = seen.setdefault(value, each.key)
        if other != each.key:
            yield Observation(
                path=_path(each.key),
                sentence=f"{each.key} and {other} are read from the same value",
                remedy="name another secret, or another property of the same one, such as previous",
                subject=each.key,
            )


@aws_rule(
    "Y07",
    by_name=True,
    formula="a secret with a rotation has its whole ARN as its id, in the stack's account, and one schedule",
    source=f"{_GUIDE}, Rotation schedules: a secret has one; RotateSecret is asked of the account that owns it;"
    " terraform-provider-aws, secret_rotation.go: the ARN is what a refresh reads back",
)
def external_secret_rotation(draft: AwsDraft) -> Iterator[Observation]:
    """A name in place of the ARN would be another secret to each refresh, and a second schedule undo the first."""
    kept, account = _kept(draft), draft.settings.platform.account_id
    scheduled = {each.id: (key, each.rotation) for key, each in reversed(kept.items()) if each.rotation}
    for key, each in kept.items():
        if each.rotation is None:
            continue
        first, schedule = scheduled[each.id]
        if not each.id.startswith("arn:"):
            yield Observation(
                path=f"{_path(key)}.id",
                sentence=f"{each.id} is a name, and a schedule is set by the whole ARN",
                remedy=f"write what aws secretsmanager describe-secret --secret-id {each.id} --query ARN prints",
                subject=key,
            )
        elif account and each.id.split(":")[4] != account:
            yield Observation(
                path=f"{_path(key)}.rotation",
                sentence=f"the secret belongs to account {each.id.split(':')[4]}, and only its owner sets a schedule",
                remedy="remove rotation here, and set it in that account",
                subject=key,
            )
        elif schedule != each.rotation:
            yield Observation(
                path=f"{_path(key)}.rotation",
                sentence=f"{key} and {first} are one secret and have different schedules",
                remedy="give both the same, or remove one of them",
                subject=key,
            )
