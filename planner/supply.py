"""Images: by which rules ECR fetches them, whose signature they have, where only signed ones run; and the charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catalogue import metal_versions, versions
from catalogue.caching import UPSTREAMS, prefix_of
from catalogue.chart_images import CHART_IMAGES
from catalogue.images import own_images
from catalogue.supply import whole_name
from planner.fabric.plan import on_fabric
from planner.mlops import has_mlflow
from planner.teams import plan_teams, trials_of
from settings.model import Settings
from settings.serving import Serving
from settings.workloads import Training

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.draft import AwsDraft, Draft, MetalDraft


@dataclass(frozen=True, kw_only=True)
class CacheRulePlan:
    """Images of `host` are cached below `prefix`. `credential_arn` is the secret for a registry that asks for one."""

    host: str
    url: str
    prefix: str
    credential_arn: str | None


def pulled_hosts(draft: AwsDraft) -> tuple[str, ...]:
    """Hosts of all images that nodes pull, but for those of EKS' own add-ons; sorted."""
    return tuple(sorted({whole_name(image).partition("/")[0] for image in _images(draft)}))


def plan_cache(draft: AwsDraft) -> tuple[CacheRulePlan, ...]:
    """The rules of a stack with supply.cache; none without."""
    supply = draft.settings.supply
    if supply.cache is None or supply.registry is None:
        return ()
    return tuple(
        CacheRulePlan(
            host=host,
            url=UPSTREAMS[host].url,
            prefix=prefix_of(supply.registry, host),
            credential_arn=supply.cache.credentials.get(host),
        )
        for host in pulled_hosts(draft)
        if host in UPSTREAMS
    )


def _images(draft: AwsDraft) -> Iterator[str]:
    settings, training = draft.settings, draft.settings.training
    for run in training.runs:
        yield run.image
        yield from (each.image for each in run.follow_ups if each.image is not None)
    yield from (each.image for each in settings.serving.services)
    yield from (each.image for each in settings.serving.triton)
    yield from images_of(training, settings.serving)
    yield from (row.image for chart in draft.charts for row in CHART_IMAGES.get(chart, ()))


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
    trials = {trials_of(each.team) for each in settings.training.experiments if each.team}
    return SignaturesPlan(
        key=wanted.key,
        issuer=wanted.keyless.issuer if wanted.keyless else None,
        identity=wanted.keyless.identity if wanted.keyless else None,
        namespaces=tuple(sorted({*wanted.namespaces, *(trials if "training" in wanted.namespaces else ())})),
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


def aws_charts(draft: AwsDraft) -> tuple[str, ...]:
    """By name, in the order of the alphabet."""
    efa = any(pool.efa for pool in draft.pools.values())
    outside = draft.settings.external_secrets is not None
    return _names(
        draft,
        [
            *([versions.EFA_DEVICE_PLUGIN] if efa else []),
            *([versions.EXTERNAL_SECRETS] if outside else []),
            *([versions.KARPENTER] if any(pool.scaled for pool in draft.pools.values()) else []),
        ],
    )


def metal_charts(draft: MetalDraft) -> tuple[str, ...]:
    """By name, in the order of the alphabet; none of a stack that is planned only."""
    if draft.site is None:
        return ()
    own = [metal_versions.CILIUM]
    if draft.site.ceph:
        own += [metal_versions.ROOK_CEPH, metal_versions.CEPH_CSI_DRIVERS]
    else:
        own.append(metal_versions.LOCAL_STATIC_PROVISIONER)
    joined = draft.fabric is not None and on_fabric(draft.kubernetes_pools.values())
    handed = joined and draft.fabric and (draft.fabric.kind == "infiniband" or draft.fabric.pod_ports is not None)
    fabric = [metal_versions.NETWORK_OPERATOR] if handed else []
    return _names(draft, own + fabric)


def _names(draft: Draft, platform: list[versions.Chart]) -> tuple[str, ...]:
    found = [versions.METRICS_SERVER, versions.PROMETHEUS_OPERATOR_CRDS, versions.VOLCANO, *platform]
    if any(pool.gpus_per_node for pool in draft.kubernetes_pools.values()):
        found.append(versions.GPU_OPERATOR)
    if draft.monitoring:
        found += [versions.KUBE_PROMETHEUS_STACK, versions.FLUENT_BIT]
    if draft.adapted:
        found.append(versions.PROMETHEUS_ADAPTER)
    if draft.to_zero:
        found.append(versions.KEDA)
    if draft.gateway:
        found.append(versions.TRAEFIK)
    if draft.certificates:
        found.append(versions.CERT_MANAGER)
    if draft.settings.supply.signatures:
        found.append(versions.KYVERNO)
    return tuple(sorted(each.name for each in found))
