"""Secrets that Secrets Manager keeps, and what in the stack reads each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from settings.external_secrets import ExternalSecret, Rotation
from settings.model import AwsSettings
from settings.serving import Service, Triton

HUB_SECRET = "hfToken"  # noqa: S105 - a name
"""What the stack file calls the token of the hub."""

CONTROLLER_REQUEST = (50, 128)
"""Millicores and MiB of the controller, which holds the objects that it looks after and nothing else."""


@dataclass(frozen=True, kw_only=True)
class ExternalSecretsPlan:
    """By the keys of the stack file in whose place they are; looked up anew every `refresh_seconds`."""

    refresh_seconds: int
    secrets: Mapping[str, ExternalSecret]


def rotations(secrets: Mapping[str, ExternalSecret]) -> dict[str, tuple[str, Rotation]]:
    """What rotates, once each: ARN and schedule by the first key of the stack file that says so."""
    found: dict[str, tuple[str, Rotation]] = {}
    for key, each in secrets.items():
        if each.rotation and each.id not in {arn for arn, _ in found.values()}:
            found[key] = each.id, each.rotation
    return found


@dataclass(frozen=True, kw_only=True)
class Reader:
    """What reads a secret of the stack, and from where its settings say so. `lasting` is what is made with the value
    once, and does not follow it.
    """

    key: str
    what: str
    path: str
    lasting: bool = False


def plan_external_secrets(settings: AwsSettings) -> ExternalSecretsPlan | None:
    """None without the section."""
    wanted = settings.external_secrets
    if wanted is None:
        return None
    return ExternalSecretsPlan(
        refresh_seconds=wanted.refresh_minutes * 60,
        secrets=wanted.secrets,
    )


def readers(settings: AwsSettings) -> Iterator[Reader]:
    """Everything in the stack that reads a secret."""
    serving, training = settings.serving, settings.training
    if serving.services:
        yield Reader(key=HUB_SECRET, what="copies from the hub", path="serving.services")
    kinds: tuple[tuple[str, tuple[Service | Triton, ...]], ...] = (
        ("services", serving.services),
        ("triton", serving.triton),
    )
    for kind, servers in kinds:
        for index, each in enumerate(servers):
            for place, key in enumerate(each.keys):
                yield Reader(key=key, what=f"callers of {each.name}", path=f"serving.{kind}[{index}].keys[{place}]")
    for index, receiver in enumerate(settings.monitoring.receivers if settings.monitoring else ()):
        yield Reader(
            key=receiver.secret, what=f"receiver {receiver.name}", path=f"monitoring.receivers[{index}].secret"
        )
    if training.experiments:
        secret = training.database.secret
        yield Reader(key=secret, what="the trials' database", path="training.trialDatabase.secret", lasting=True)
    if training.tracking:
        yield Reader(
            key=training.tracking.key,
            what="the tracker's database" if training.tracking.kind == "mlflow" else "runs that tell the tracker",
            path="training.tracking.secret",
            lasting=training.tracking.kind == "mlflow",
        )
