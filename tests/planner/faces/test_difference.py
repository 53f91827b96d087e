"""What a change changes."""

from planner.faces.difference import Change, difference
from planner.faces.outputs import flat
from planner.faces.text import difference_text
from tests.planner.faces.test_text import printed
from tests.planner.stacks import planned


def test_numbers_before_and_after() -> None:
    """Two p5.48xlarge less are two nodes, 16 GPUs, 64 EFA interfaces and 110.08 USD an hour; the rest stays."""
    before, after = planned("prod"), planned("prod", {"pools.1.count": 6})
    changes = {change.path: change for change in difference(before, after, assignments=["x=1"]).numbers}
    assert changes["totals.nodes"] == Change(path="totals.nodes", before=12, after=10)
    assert (changes["pools.training.gpus"].before, changes["pools.training.gpus"].after) == (64, 48)
    assert changes["totals.efaInterfaces"].after == 6 * 32
    assert "pools.inference.gpus" not in changes
    hourly = changes["priceUsd.hourly"]
    assert isinstance(hourly.before, float)
    assert isinstance(hourly.after, float)
    assert 110.08 <= hourly.before - hourly.after < 111.5


def test_findings_come_change_and_go() -> None:
    """A gang that loses its nodes is new, one that misses more of them has changed, one that has them again is gone."""
    good, bad, worse = (planned("prod", {"pools.1.count": count}) for count in (8, 6, 5))
    assert [finding.rule for finding in difference(good, bad).new] == ["gang-fits-pool"]
    changed = difference(bad, worse)
    assert ([finding.rule for finding in changed.changed], changed.new, changed.gone) == (["gang-fits-pool"], (), ())
    assert "has 5" in changed.changed[0].sentence
    assert [finding.rule for finding in difference(bad, good).gone] == ["gang-fits-pool"]


def test_a_plan_does_not_differ_from_itself() -> None:
    """Also where a rule has two findings at one place."""
    plan = planned("prod")
    same = difference(plan, plan, assignments=["x=1"])
    assert same.assignments == ("x=1",)
    assert (same.numbers, same.new, same.changed, same.gone) == ((), (), (), ())
    assert len([finding for finding in plan.findings if finding.path.endswith("lifecycle.protect")]) > 1


def test_what_was_not_there_is_none() -> None:
    """A pool that is renamed goes and comes."""
    changes = difference(planned("dev"), planned("dev", {"pools.0.name": "base"})).numbers
    shown = {change.path: (change.before, change.after) for change in changes}
    assert shown["pools.system.nodes"] == (2, None)
    assert shown["pools.base.nodes"] == (None, 2)


def test_numbers_are_leaves_by_path() -> None:
    """Lists are values of their own."""
    assert dict(flat({"a": {"b": 1, "c": [1, 2]}, "d": {}})) == {"a.b": 1, "a.c": [1, 2]}


def test_a_run_that_a_change_ends_is_told_with_what_it_loses() -> None:
    """A6: its job is immutable, so that other nodes are another job, which starts where the last one saved."""
    run = "training.runs.0"
    (ending,) = difference(planned("dev"), planned("dev", {f"{run}.nodes": 1})).endings
    assert str(ending) == (
        "run llama-3-8b-sft stops: its job is deleted and created again (nodes 2 to 1); "
        "it starts again from its first step: it has no checkpoint"
    )
    saving = {f"{run}.checkpoint": {"everyMinutes": 30, "withinSeconds": 120}}
    (ending,) = difference(planned("dev", saving), planned("dev", {**saving, f"{run}.image": "a/b:1"})).endings
    assert ending.whence == "it starts again from its newest checkpoint on the shared file system, at most 30 min old"
    (ending,) = difference(planned("dev"), planned("dev", {"training.runs": []})).endings
    assert ending.why == "the change deletes it"


def test_two_stacks_end_no_run_of_each_other() -> None:
    """Nor does a change of something else."""
    assert difference(planned("dev"), planned("prod"), ("dev", "prod"), same_stack=False).endings == ()
    assert difference(planned("dev"), planned("dev", {"pools.2.count": 3})).endings == ()


def test_what_a_change_ends_is_the_first_line() -> None:
    planned_before, after = planned("dev"), planned("dev", {"training.runs.0.nodes": 1})
    shown = printed(difference_text("dev", difference(planned_before, after), after)).splitlines()
    assert shown[1].strip().startswith("run llama-3-8b-sft stops: ")


def test_a_name_is_not_broken_at_80_columns() -> None:
    """C17: gangs.mistral-lora.memoryGbPerGpu stands on one line."""
    changed = planned(changes={"training.runs.0.name": "mistral-lora"})
    shown = printed(difference_text("dev", difference(planned(), changed), changed), 80)
    assert any(line.split()[0] == "gangs.mistral-lora.memoryGbPerGpu" for line in shown.splitlines() if line.strip())
