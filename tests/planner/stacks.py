"""Stacks to plan: the committed ones, and changes of them."""

from collections.abc import Mapping
from copy import deepcopy
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from planner.findings import Finding
from planner.metal_types import MetalPlan
from planner.plan import AwsPlan, Plan, plan
from planner.reliability.checkpoints import Saving
from settings.load import from_sections
from settings.model import AwsSettings, MetalSettings

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


NAMELESS = {
    "name": "any",
    "pool": "training",
    "nodes": 8,
    "queue": "training",
    "image": "a/b:1",
    "script": ["train.py"],
}
"""A run that says nothing of its model."""

DEAR: dict[str, Any] = {"budget.maxHourlyUsd": 9e5, "budget.maxGpus": 100_000, "budget.alerts.monthlyUsd": 9e7}
"""Changes with which a stack may cost what it likes."""


def experiment(run: str, **said: Any) -> dict[str, Any]:
    """Trials of a run's learning rate, some of it said differently."""
    known: dict[str, Any] = {
        "name": "rates",
        "run": run,
        "nodes": 1,
        "trialHours": 1,
        "objective": {"metric": "loss"},
        "parameters": [{"name": "learning-rate", "floatRange": {"min": 1e-5, "max": 1e-3}}],
        "trials": {"parallel": 1, "most": 2},
        "budgetGpuHours": 20,
    }
    return {**known, **said}


def sections(stack: str = "dev") -> dict[str, Any]:
    """The sections of a committed stack file as plain data."""
    return deepcopy(_sections(stack))


@cache
def _sections(stack: str) -> dict[str, Any]:
    return sections_in(yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))["config"])


def sections_in(config: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a stack's configuration."""
    return {key.partition(":")[2]: value for key, value in config.items() if key.startswith("gpucluster:")}


def changed(stack: str, changes: Mapping[str, Any] | None = None) -> AwsSettings | MetalSettings:
    """A committed stack with values replaced: {"pools.1.count": 4}."""
    data = sections(stack)
    for path, value in (changes or {}).items():
        *above, last = path.split(".")
        here: Any = data
        for step in above:
            here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
        here[int(last) if isinstance(here, list) else last] = value
    return from_sections(data)


def saving(**changes: Any) -> Saving:
    """A save every half an hour, straight to the file system, with some of it said differently."""
    known: dict[str, Any] = {"every_s": 1800, "within_s": 60, "keep": 2, "local": False, "file_system_s": 1800}
    return Saving(**{**known, **changes})


def settings(stack: str = "dev", changes: Mapping[str, Any] | None = None) -> AwsSettings:
    """A committed stack on AWS with values replaced."""
    found = changed(stack, changes)
    assert isinstance(found, AwsSettings)
    return found


def planned(
    stack: str = "dev", changes: Mapping[str, Any] | None = None, *, catalogue: Catalogue = SHIPPED, today: date = TODAY
) -> AwsPlan:
    """The plan of a committed stack on AWS with values replaced."""
    return plan(settings(stack, changes), catalogue=catalogue, today=today)


def planned_metal(
    changes: Mapping[str, Any] | None = None, *, catalogue: Catalogue = SHIPPED, today: date = TODAY
) -> MetalPlan:
    """The plan of the committed stack on metal with values replaced; without its machines, which are as many as its
    pools count, unless the changes are about them.
    """
    unsaid = not any(path.startswith("inventory") for path in changes or ())
    found = changed("metal", {**({"inventory": None} if unsaid else {}), **(changes or {})})
    assert isinstance(found, MetalSettings)
    return plan(found, catalogue=catalogue, today=today)


def plan_of(config: Mapping[str, Any], *, today: date = TODAY) -> AwsPlan:
    """The plan of a configuration on AWS."""
    found = plan(from_sections(sections_in(config)), today=today)
    assert isinstance(found, AwsPlan)
    return found


def metal_plan_of(config: Mapping[str, Any]) -> MetalPlan:
    """The plan of a configuration on metal."""
    found = plan(from_sections(sections_in(config)), today=TODAY)
    assert isinstance(found, MetalPlan)
    return found


def about(rule: str, plan_: Plan) -> list[Finding]:
    """What one rule finds."""
    return [finding for finding in plan_.findings if finding.rule == rule]


def told(rule: str, plan_: Plan) -> list[str]:
    """The same as paths and sentences."""
    return [f"{finding.path}: {finding.sentence}" for finding in about(rule, plan_)]


def rules(plan_: Plan) -> list[str]:
    """Ids of the findings that stand, in order."""
    return [finding.rule for finding in (*plan_.errors, *plan_.warnings) if finding.waiver is None]
