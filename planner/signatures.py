"""Whose signature images have, and where only such images run."""

from collections.abc import Iterator
from dataclasses import dataclass

from catalogue.images import own_images
from planner.teams import plan_teams
from planner.tracking import has_mlflow
from settings.model import Settings
from settings.serving import Serving
from settings.workloads import Training


def images_of(training: Training, serving: Serving | None = None) -> tuple[str, ...]:
    """Each once; without `serving` those for runs alone."""
    return own_images(
        experiments=bool(training.experiments),
        mpi=training.by_mpi,
        mlflow=has_mlflow(training),
        pipelines=training.pipelines is not None,
        people=serving is not None and serving.gateway is not None and serving.gateway.people is not None,
    )


CONTROLLER_REQUEST = (100, 384)
"""Millicores and MiB of a pod that checks (Kyverno, charts/kyverno/values.yaml, admissionController.container)."""
TIMEOUT_SECONDS = 20
"""How long the API server waits for a verdict on one pod, whose images' signatures are fetched from the registry."""


@dataclass(frozen=True, kw_only=True)
class SignaturesPlan:
    """The signer is who has the private half of `key`, PEM, or who is `identity` at `issuer`. `port` is that of the
    registry which signatures are fetched from.
    """

    key: str | None
    issuer: str | None
    identity: str | None
    namespaces: tuple[str, ...]
    replicas: int
    port: int


def plan_signatures(settings: Settings) -> SignaturesPlan | None:
    """None where any image runs."""
    wanted, registry = settings.supply.signatures, settings.supply.registry
    if wanted is None or registry is None:
        return None
    port = registry.partition("/")[0].partition(":")[2]
    return SignaturesPlan(
        key=wanted.key,
        issuer=wanted.keyless.issuer if wanted.keyless else None,
        identity=wanted.keyless.identity if wanted.keyless else None,
        namespaces=tuple(sorted(wanted.namespaces)),
        replicas=wanted.replicas,
        port=int(port or 443),
    )


def signable(settings: Settings) -> tuple[str, ...]:
    """Namespaces whose pods are the program's own and people's, whose images this stack file names; sorted."""
    return tuple(sorted({"training", "inference", *(team.namespace for team in plan_teams(settings))}))


def images_in(settings: Settings, namespaces: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Images of the stack file and of the program that pods there run, each with its settings path."""
    training, serving = settings.training, settings.serving
    if "training" in namespaces:
        for index, run in enumerate(training.runs):
            yield f"training.runs[{index}].image", run.image
            for place, each in enumerate(run.follow_ups):
                if each.image is not None:
                    yield f"training.runs[{index}].followUps[{place}].image", each.image
    if "inference" in namespaces:
        for index, service in enumerate(serving.services):
            yield f"serving.services[{index}].image", service.image
        for index, server in enumerate(serving.triton):
            yield f"serving.triton[{index}].image", server.image
    if {"training", "inference"} & set(namespaces):
        yield from (("supply.signatures", image) for image in images_of(training))
