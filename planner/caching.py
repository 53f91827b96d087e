"""Pull through cache rules of ECR: one for each registry that the stack pulls from and ECR can fetch from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catalogue.caching import UPSTREAMS, prefix_of
from catalogue.chart_images import CHART_IMAGES
from catalogue.supply import whole_name
from planner.signatures import images_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.draft import AwsDraft


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
