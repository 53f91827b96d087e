"""The plan as a whole: imports, extremes, workloads, and that nothing of it is written down."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.step import Phase
from planner.types import AwsPlan
from settings.errors import SettingsError
from settings.load import from_file, from_sections
from settings.model import Waiver
from settings.presets import preset, preset_names
from tests.planner.stacks import ROOT, TODAY, planned, planned_metal, rules

PROGRAM = ("settings", "catalogue", "planner")


def test_planner_and_settings_import_no_pulumi() -> None:
    """Settings, catalogue and planner run where Pulumi is not installed, and load what draws or parses when asked."""
    code = (
        "import sys; sys.modules['pulumi'] = None\n"
        "import settings.load, settings.schema, planner.plan, planner.__main__, planner.faces.findings\n"
        "import planner.faces.outputs, catalogue.pins\n"
        "assert not [name for name in sys.modules if name.startswith(('rich', 'networkx', 'boto'))]\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
    code = "import sys, settings.load, planner.plan, planner.faces.outputs\nassert 'yaml' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_a_waiver_of_a_rule_about_racks_is_unused_on_aws() -> None:
    """As anywhere, and not unknown."""
    stack = from_file(ROOT / "Pulumi.prod.yaml")
    waiver = Waiver.model_validate({"rule": "server-unknown", "reason": "nobody knows", "until": "2999-12-31"})
    waived = plan(stack.model_copy(update={"waivers": (*stack.waivers, waiver)}), today=TODAY)
    assert [each.rule for each in waived.findings if "waivers[" in each.path] == ["waiver-unused"]


def test_plan_has_no_outcome_written_into_it() -> None:
    """The planner computes: no figure of a committed stack's plan stands in its code."""
    made = planned("prod")
    (service,) = made.services.values()
    figures = {
        str(made.prices.hourly),
        str(service.kv_cache_tokens),
        *(str(pool.allocatable_memory_mib) for pool in made.pools.values()),
        *(subnet.cidr for subnet in made.subnets),
    }
    code = "".join(path.read_text(encoding="utf-8") for part in PROGRAM for path in (ROOT / part).rglob("*.py"))
    assert not [figure for figure in figures if figure in code.replace("_", "")]


EXTREMES = (0, -1, 1, 2, 7, 0.5, 4096, 10**9, 10**18, 1e-9)
Path = tuple[str | int, ...]


def numbers(value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths of the numbers in plain data."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield path
    for key, below in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from numbers(below, (*path, key))


NUMBERS = [(name, path) for name in preset_names() for path in numbers(preset(name))]


def answer(name: str, path: Path, value: float) -> bool:
    """Whether the preset plans with a number replaced. Anything but a plan or sentences is raised."""
    data = deepcopy(preset(name)) | {"lifecycle": {"owner": "ml-platform", "costCentre": "research"}}
    *above, last = path
    here: Any = data
    for step in above:
        here = here[step]
    here[last] = value
    try:
        found = plan(from_sections(data), today=TODAY)
    except SettingsError as error:
        return _explained(error.problems)
    assert all(finding.sentence and finding.remedy for finding in found.findings)
    return True


def _explained(problems: Iterable[str]) -> bool:
    """False, as the settings are refused; fails if a sentence does not begin with its path."""
    assert all(problem.startswith("gpucluster:") for problem in problems)
    return False


@given(where=st.sampled_from(NUMBERS), value=st.sampled_from(EXTREMES))
def test_no_number_ends_in_a_traceback(where: tuple[str, Path], value: float) -> None:
    """A08: out of range is a settings error, inconsistent a finding, and nothing else happens."""
    answer(*where, value)


@pytest.mark.parametrize("value", [-1, 10**9])
@pytest.mark.parametrize("name", preset_names())
def test_counts_of_nodes_have_bounds(name: str, value: int) -> None:
    """A08: a negative and a billion nodes are errors of the settings, in every pool."""
    counts = [path for preset_, path in NUMBERS if preset_ == name and path[0] == "pools" and path[-1] == "count"]
    assert counts
    assert not any(answer(name, path, value) for path in counts)


def test_gang_takes_every_gpu_and_efa_interface_of_its_nodes() -> None:
    """A08, N04: one pod per node; the PodGroup's minMember is the number of pods."""
    run = planned("prod").runs["llama-3-70b-pretrain"]
    assert (run.pods, run.gpus, run.efa) == (8, 64, 256)


def test_totals_of_the_committed_stacks() -> None:
    """A08: training and inference GPUs stand side by side, counted once."""
    dev, prod = planned("dev").totals, planned("prod").totals
    assert (dev.nodes, dev.gpus, dev.efa_interfaces) == (6, 4, 2)
    assert (prod.nodes, prod.gpus, prod.efa_interfaces) == (12, 72, 256)


def test_inference_reserve_and_gang_never_share_gpus() -> None:
    """A08, IN09: a 64-GPU gang beside an always-on service needs more than 64 GPUs: the gang's pool is its own."""
    plan = planned("prod")
    reserved = sum(service.gpus for service in plan.services.values())
    gang = sum(run.gpus for run in plan.runs.values())
    assert reserved + gang <= plan.totals.gpus
    assert rules(planned("prod", {"pools.1.count": 7})) == ["gang-fits-pool"]
    assert rules(planned("prod", {"pools.1.count": 8})) == []


def test_replicas_are_packed_onto_nodes() -> None:
    """A08, IN08, IN10: 8 GPUs on 2 nodes of 4 hold two replicas of 4, but not one of 4 and two of 3."""
    two_of_four = {"pools.2.instanceType": "g6e.12xlarge", "pools.2.count": 2, "budget.maxHourlyUsd": 600}
    assert rules(planned("prod", two_of_four)) == []
    assert rules(planned("prod", {**two_of_four, "pools.2.count": 1})) == ["replicas-fit-pool"]
    assert rules(planned("prod", {**two_of_four, "serving.services.0.maxReplicas": 3})) == [
        "chart-not-pinned",  # prometheus-adapter, which comes with a service that is to change
        "autoscaler-ceiling",
    ]


def test_replicas_that_are_to_change_need_a_metric_lf06() -> None:
    (found,) = planned("prod", {"serving.services.0.maxReplicas": 3, "monitoring": None}).errors
    assert (found.rule, found.path) == ("autoscaler-unfed", "gpucluster:serving.services[0].maxReplicas")
    assert "would say FailedGetPodsMetric and stay at 2" in found.sentence
    assert planned("prod").services["llama-3-70b"].scaling is None


@pytest.mark.parametrize("plan", [planned("prod"), planned_metal()], ids=["aws", "metal"])
def test_a_step_reads_its_text_from_the_planned_storage(plan: AwsPlan | MetalPlan) -> None:
    """A17: four bytes a token at what the file system reads, beside the computing as long as that takes longer."""
    (run,) = plan.runs.values()
    assert run.forecast is not None
    assert run.forecast.step is not None
    assert plan.storage is not None
    (load,) = (each for each in run.forecast.step.phases if each.phase is Phase.LOAD)
    assert load.exchange_s == pytest.approx(run.forecast.step.tokens * 4e-9 / plan.storage.read_gb_per_s)
    assert load.exchange_s > 0 == load.exposed_s
