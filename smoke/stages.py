"""What is tried first: the stack file of each stage, from one system pool to the whole."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from typing import Any

from planner.plan import AwsPlan, plan
from settings.load import from_sections
from settings.model import AwsSettings

NAMESPACE = "gpucluster"
LEAVING_HOURS = 0.75
"""What `pulumi destroy` of such a stack may take, and is paid for: EKS, node groups and FSx go one after the other."""


class Refused(Exception):  # noqa: N818 - a sentence for the person, not a fault
    """The stack is none that is tried and torn down; the text says why and what to change."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """`config` is what stands below `config:` of the stage's stack file; `proves` what its `pulumi up` shows."""

    name: str
    config: Mapping[str, Any]
    usd_per_hour: float
    proves: str


def stages(config: Mapping[str, Any], sections: Mapping[str, Any], today: date) -> list[Stage]:
    """The stages of a stack, each dearer than the one before.

    `config` is what stands below `config:` of its file, `sections` the same without secrets and other programs' keys.
    Raises Refused for a stack whose end costs more than its hours: protected, or with a capacity block.
    """
    settings = _settings(sections)
    if settings.lifecycle.protect:
        raise Refused("lifecycle.protect is set, so it could not be destroyed; use a separate stack, such as dev")
    if blocks := [each.name for each in settings.pools if each.booked]:
        raise Refused(f"pool {blocks[0]} uses a capacity block, which is paid in full; use another capacity type")
    system = [each for each in settings.pools if each.role == "system"]
    gpus = [each for each in settings.pools if each.role != "system"]
    first = _stage("system", "the network, EKS, one group of nodes and its add-ons", config, sections, system, today)
    if not gpus:
        return [first]
    candidates = [
        _stage(
            "gpu",
            "one GPU node: its image, GPU Operator, EFA plugin where it has EFA, and the gate gpu-readiness",
            config,
            sections,
            [*system, each.model_copy(update={"count": 1})],
            today,
        )
        for each in gpus
    ]
    whole = Stage(
        name="whole",
        config=config,
        usd_per_hour=_planned(settings, today).prices.hourly,
        proves="every pool, the file system's claims, gangs and services",
    )
    return [first, min(candidates, key=lambda each: each.usd_per_hour), whole]


def worst_usd(tried: list[Stage], hours: float) -> float:
    """The most that `hours` and the teardown cost: as if the dearest stage stood all the time."""
    return max(each.usd_per_hour for each in tried) * (hours + LEAVING_HOURS)


def _stage(
    name: str, proves: str, config: Mapping[str, Any], sections: Mapping[str, Any], pools: list[Any], today: date
) -> Stage:
    """A stage without runs and services, with these pools alone."""
    less = dict(deepcopy(sections))
    less["pools"] = [each.model_dump(mode="json", by_alias=True, exclude_defaults=True) for each in pools]
    less["training"] = {**less.get("training", {}), "runs": []}
    less["serving"] = {**less.get("serving", {}), "services": []}
    planned = _planned(_settings(less), today)
    below = {**config, **{f"{NAMESPACE}:{key}": value for key, value in less.items()}}
    return Stage(name=name, config=below, usd_per_hour=planned.prices.hourly, proves=proves)


def _settings(sections: Mapping[str, Any]) -> AwsSettings:
    settings = from_sections(sections)
    if not isinstance(settings, AwsSettings):
        raise Refused(f"platform.kind is {settings.platform.kind}; only stacks on aws can be tried this way")
    return settings


def _planned(settings: AwsSettings, today: date) -> AwsPlan:
    planned = plan(settings, today=today)
    if planned.errors:
        raise Refused("the planner refuses it:\n" + "\n".join(f"  {each}" for each in planned.errors))
    return planned
