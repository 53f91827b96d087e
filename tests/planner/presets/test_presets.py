"""Shipped presets work as they are; the same systems with the values that circulate about them are refused."""

import re
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from planner.draft import registry
from planner.metal_types import MetalPlan
from planner.plan import AwsPlan, plan
from settings.load import from_file, from_sections
from settings.model import AwsSettings, MetalSettings
from settings.presets import PRESETS, preset, preset_names
from tests.planner.stacks import TODAY
from tests.settings.editor import accepts

LITERAL = sorted((Path(__file__).parent / "literal").glob("*.yaml"))
LIFECYCLE = {"owner": "ml-platform", "costCentre": "research"}
TWINS = [("h100-8n", "h100-8n-cloud"), ("h200-32n", "h200-32n-cloud")]
_HEAD = re.compile(r"^# (error|warning): (\S+) \(([^)]+)\)$", re.MULTILINE)


def planned(name: str) -> AwsPlan | MetalPlan:
    """The plan of a preset that only got an owner: an example, as nobody deploys with its buckets."""
    return plan(from_sections({"preset": name, "example": True, "lifecycle": LIFECYCLE}), today=TODAY)


def racks(name: str) -> MetalPlan:
    found = planned(name)
    assert isinstance(found, MetalPlan)
    return found


def gpus(found: AwsPlan | MetalPlan) -> set[str]:
    """Models of the GPUs in a plan."""
    return {pool.gpu.name for pool in found.pools.values() if pool.gpu}


def test_all_systems_and_tiers_are_shipped() -> None:
    """A02-A05, I06-I08, Z07, Z08, Z10, Z11: the source systems, their cloud twins, the tiers and the labs."""
    assert set(preset_names()) == {
        *("h100-8n", "h100-8n-cloud", "slurm-8n", "h200-32n", "h200-32n-cloud", "h100-64n"),
        *("budget", "mid", "full"),
        *("lab-cloud", "lab-vm", "lab-metal", "lab-hybrid"),
    }


@pytest.mark.parametrize("name", preset_names())
def test_preset_plans_clean(name: str) -> None:
    """A02-A05, I06-I08: exactly the warnings that the preset's own head names, with a reason each, and no error but
    for what it leaves to the stack file.
    """
    text = (PRESETS / f"{name}.yaml").read_text(encoding="utf-8")
    known = set(re.findall(r"^# warns: (\S+) \(.+\)$", text, re.MULTILINE))
    asked = set(re.findall(r"^# asks: (\S+) \(.+\)$", text, re.MULTILINE))
    found = planned(name)
    assert {finding.rule for finding in found.errors} == asked
    assert {finding.rule for finding in found.warnings} == known
    assert text.startswith("# ")


@pytest.mark.parametrize("name", preset_names())
def test_schema_knows_a_stack_file_on_the_preset(name: str) -> None:
    """Z16: an editor accepts a file that says only what a preset cannot, and still sees what is wrong in it."""
    config = {
        "pulumi:disable-default-providers": ["*"],
        "gpucluster:preset": name,
        "gpucluster:lifecycle": LIFECYCLE,
        "gpucluster:scheduling": {"queues": [{"name": "mine"}]},
    }
    assert accepts({"config": config})
    kind = preset(name)["platform"]["kind"]
    of_the_other: dict[str, Any] = {"gpucluster:fabric": {}} if kind == "aws" else {"gpucluster:security": {}}
    incomplete: dict[str, Any] = {"gpucluster:scheduling": {"queues": [{}]}}
    unknown: dict[str, Any] = {"gpucluster:platform": {"zone": "x"}}
    for wrong in (of_the_other, incomplete, unknown):
        assert not accepts({"config": {**config, **wrong}})


@pytest.mark.parametrize(("name", "cloud"), TWINS)
def test_twins_are_of_one_size(name: str, cloud: str) -> None:
    """A02, A04: the cloud twin has as many GPUs of the same model, and gangs and services of the same shape."""
    here, there = planned(name), planned(cloud)
    assert here.totals.gpus == there.totals.gpus
    assert gpus(here) == gpus(there)
    assert {run.name: run.gpus for run in here.runs.values()} == {run.name: run.gpus for run in there.runs.values()}
    assert {each.name: each.gpus for each in here.services.values()} == {
        each.name: each.gpus for each in there.services.values()
    }


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("h100-8n", 64),
        ("slurm-8n", 64),
        ("h200-32n", 256),
        ("h100-64n", 512),
        ("budget", 32),
        ("mid", 32),
        ("full", 64),
        ("lab-vm", 0),
    ],
)
def test_sizes_are_those_of_the_systems(name: str, gpus: int) -> None:
    """A02-A05, I06-I08: 8 x 8, 32 x 8, 64 x 8, 4 x 8, 8 x 4."""
    assert planned(name).totals.gpus == gpus


def test_gang_and_service_share_the_cluster_and_no_gpu() -> None:
    """A08, IN09: of 64 GPUs the gang has 56 and the service 8, always."""
    found = planned("h100-8n")
    (run,), (service,) = found.runs.values(), found.services.values()
    assert (run.gpus, service.gpus) == (56, 8)
    assert run.gpus + service.gpus == found.totals.gpus


def test_estate_grows_to_2048_gpus_without_a_new_tier() -> None:
    """A05, FB13: 64 nodes begin with 16 leaves and all 32 spines; at 256 nodes there are 64 leaves, none replaced."""
    fabric = racks("h100-64n").fabric
    assert fabric is not None
    today, later = fabric.growth.day_one, fabric.growth.at_maximum
    assert (today.leaves, later.leaves) == (16, 64)
    assert (today.spines, later.spines) == (32, 32)
    assert racks("h100-64n").pools["training"].most * 8 == 2048


def test_reference_build_has_power_for_whole_servers() -> None:
    """PW01, HW02: eight servers draw 81.6 kW, of which the GPUs alone are 44.8."""
    facility = racks("h100-8n").facility
    assert facility is not None
    assert facility.power.nodes_kw == pytest.approx(81.6)
    assert facility.power.gpus_kw == pytest.approx(44.8)


@pytest.mark.parametrize("path", LITERAL, ids=lambda path: path.stem)
def test_literal_values_are_refused_for_the_known_reasons(path: Path) -> None:
    """A02-A05, I06-I08, Z07: exactly the rules of the file's head speak, each of which guards the correction named."""
    expected = {(severity, rule) for severity, rule, _ in _HEAD.findall(path.read_text(encoding="utf-8"))}
    found = plan(from_file(path), today=TODAY)
    assert {(str(finding.severity), finding.rule) for finding in found.findings} == expected
    assert expected
    assert all(finding.waiver is None for finding in found.findings)


@pytest.mark.parametrize("path", LITERAL, ids=lambda path: path.stem)
def test_corrections_named_are_guarded_by_their_rules(path: Path) -> None:
    """The ids behind a rule in a file's head are among those that the rule guards."""
    guards = {rule.id: set(rule.guards) for rule in registry.rules}
    for _, rule, ids in _HEAD.findall(path.read_text(encoding="utf-8")):
        assert set(ids.split(", ")) <= guards[rule]


def test_literal_values_of_a_rack_are_refused_in_numbers() -> None:
    """HW02, HW23, FB03, PW02: what a person reads about the guide's eight servers has its numbers in it."""
    (path,) = (path for path in LITERAL if path.stem == "h100-8n")
    said = {finding.rule: str(finding) for finding in plan(from_file(path), today=TODAY).errors}
    assert "2 supplies of 3000 W, 1 of them redundant, bring 3000 W" in said["psu-power"]
    assert "draws up to 10200" in said["psu-power"]
    assert "8 nodes with 8 ports each, 6 ports for storage" in said["fabric-too-small"]
    assert "nodes 81.6 kW" in said["cooling-capacity"]
    assert re.search(r"takes at least 1\d\d\.\d GB of each H100, whose driver reports 85\.5 GB", said["run-fits-gpus"])


@pytest.mark.parametrize("stack", ["lab", "metal"])
def test_committed_examples_plan_clean(stack: str) -> None:
    """Z16: the committed lab and metal stacks have no finding that is not accepted with a reason."""
    settings = from_file(Path(__file__).parents[3] / f"Pulumi.{stack}.yaml")
    assert isinstance(settings, AwsSettings if stack == "lab" else MetalSettings)
    found = plan(settings, today=TODAY)
    assert [finding.rule for finding in found.findings if finding.waiver is None] == []


@pytest.mark.parametrize("name", ["h100-8n-cloud", "h200-32n-cloud"])
def test_a_cluster_that_stays_takes_no_end(name: str) -> None:
    """Its files are meant to last."""
    kept = {"keeper": {}, "lifecycle": {**LIFECYCLE, "expiry": "2026-12-31"}}
    found = plan(from_sections({"preset": name, "example": True, **kept}), today=TODAY)
    assert [(each.rule, each.path) for each in found.errors if each.rule.startswith("keeper")] == [
        ("keeper-protected", "gpucluster:storage.lustre.deploymentType")
    ]


@pytest.mark.parametrize("name", [each for each in preset_names() if each.startswith("lab-")])
def test_a_lab_in_the_cloud_ends_by_itself(name: str) -> None:
    """Z15: without a word about it in the stack file; its day is asked for, and gives its end."""
    lifecycle = {**LIFECYCLE, "expiry": str(TODAY + timedelta(days=3))}
    found = plan(from_sections({"preset": name, "example": True, "lifecycle": lifecycle}), today=TODAY)
    if isinstance(found, AwsPlan):
        assert found.keeper is not None
        assert found.keeper.ends == datetime.combine(TODAY + timedelta(days=4), time(), UTC)
        assert found.keeper.max_usd is not None, "money is the second rail of every lab that is shipped"
        assert not [each for each in found.errors if each.rule == "keeper-budget"]
        days = found.keeper.max_usd / found.keeper.hourly_usd / 24
        assert 4 < days < 14, f"{days:.1f} days: neither refused for a few days nor without a bound"
        late = {**lifecycle, "expiry": str(TODAY + timedelta(days=60))}
        refused = plan(from_sections({"preset": name, "example": True, "lifecycle": late}), today=TODAY)
        assert [each.path for each in refused.errors if each.rule == "keeper-budget"] == ["gpucluster:keeper.maxUsd"]
        assert [each.rule for each in planned(name).errors if each.rule.startswith(("keeper", "lab"))] == [
            "lab-without-expiry"
        ]
    else:
        assert "keeper" not in preset(name), "nothing is paid for by the hour"


def test_the_lab_is_cheap_and_ends() -> None:
    """Z01, Z03, Z07, PW14: spot, scratch storage, an expiry, and about a dollar an hour all in."""
    settings = from_file(Path(__file__).parents[3] / "Pulumi.lab.yaml")
    assert isinstance(settings, AwsSettings)
    assert settings.lifecycle.expiry is not None
    assert settings.keeper is not None
    assert settings.keeper.max_usd is not None
    assert not settings.lifecycle.protect
    assert settings.storage.lustre.deployment_type == "SCRATCH_2"
    assert {pool.capacity for pool in settings.pools if pool.role != "system"} == {"spot"}
    assert plan(settings, today=TODAY).prices.hourly < 1.5
