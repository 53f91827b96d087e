"""What a change changes: assignments, differences, and a rule explained."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.faces.assignments import AssignmentError, assigned, assignments
from planner.faces.difference import Change, difference
from planner.faces.explain import Explanation, UnknownRuleError, Verdict, explain
from planner.faces.outputs import flat
from planner.faces.text import difference_text
from planner.plan import draft, plan
from tests.planner.faces.test_text import printed
from tests.planner.stacks import TODAY, changed, planned, planned_metal, sections


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


def test_paths_and_values_are_those_of_the_stack_file() -> None:
    """Values are YAML as the CLI reads it; several stand in one text, or in several; findings' paths are taken, too."""
    made = assignments(
        [
            'pools[1].count=64 training.runs[0].script=[a.py, "b c"]  lifecycle.protect=true',
            "gpucluster:platform.kubernetesVersion='1.35'",
            "serving.services[0].image=on",
        ]
    )
    assert [(each.path, each.value) for each in made] == [
        (("pools", 1, "count"), 64),
        (("training", "runs", 0, "script"), ["a.py", "b c"]),
        (("lifecycle", "protect"), True),
        (("platform", "kubernetesVersion"), "1.35"),
        (("serving", "services", 0, "image"), "on"),
    ]
    assert str(made[0]) == "gpucluster:pools[1].count=64"
    assert assignments([]) == ()


def test_the_sections_stay_as_they_were() -> None:
    """The committed data is compared with, so it must not change under the assignment."""
    before = sections("prod")
    after = assigned(before, assignments(["pools[1].count=64 security.adminArns=[]"]))
    assert before == sections("prod")
    assert after["pools"][1] == {**before["pools"][1], "count": 64}
    assert after["security"] == {"adminArns": []}
    assert after["pools"][0] == before["pools"][0]


def test_later_assignments_see_earlier_ones() -> None:
    """A list given as a whole can be changed entry by entry."""
    made = assignments(["scheduling.queues=[{name: a}]", "scheduling.queues[0].weight=3"])
    assert assigned({}, made) == {"scheduling": {"queues": [{"name": "a", "weight": 3}]}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pools[1].count", "'pools[1].count' is not PATH=VALUE; write it like pools[0].count=64"),
        ("1=2", "is not PATH=VALUE"),
        ("pools[1].count=[1", "correct the YAML"),
        ("pols[1].count=2", "gpucluster:pols: is not a section; did you mean pools?"),
        ("pools[7].count=2", "gpucluster:pools: has the entries [0] system, [1] training, [2] inference; add one"),
        ("pools.count=2", "gpucluster:pools: is a list; take one of its entries [0] system, [1] training"),
        ("budget[0]=2", "gpucluster:budget: is a section and has no [0]; known: maxHourlyUsd"),
        ("budget.maxHourlyUsd.x=2", "gpucluster:budget.maxHourlyUsd: is 20 and has no x; assign to it as a whole"),
        ("security.adminArns[0]=x", "gpucluster:security.adminArns: has no entries; add one in the stack file"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_sentence(text: str, said: str) -> None:
    """Where it ends, what there is, and what to type."""
    with pytest.raises(AssignmentError) as error:
        assigned(sections("dev"), assignments([text]))
    assert said in str(error.value)


@given(st.text())
def test_any_text_is_taken_or_refused_in_words(text: str) -> None:
    """Whatever is typed, no other error comes of it."""
    with suppress(AssignmentError):
        assigned(sections("dev"), assignments([text]))


def explained(rule: str, stack: str = "prod", changes: dict[str, object] | None = None) -> Explanation:
    wanted = changed(stack, changes)
    return explain(rule, draft(wanted, today=TODAY), plan(wanted, today=TODAY).findings)


def test_a_rule_that_holds_says_what_it_requires() -> None:
    """And which known mistake it answers."""
    shown = explained("gang-fits-pool")
    assert (shown.verdict, shown.findings, shown.platform) == (Verdict.HOLDS, (), None)
    assert shown.what.startswith("A run needs at most as many nodes as its pool has")
    assert "IN09" in shown.guards


def test_a_rule_that_refuses_shows_its_findings_alone() -> None:
    """Whatever else is wrong with the stack."""
    shown = explained("gang-fits-pool", changes={"pools.1.count": 6, "budget.maxHourlyUsd": 1})
    assert shown.verdict is Verdict.REFUSES
    assert [finding.rule for finding in shown.findings] == ["gang-fits-pool"]


def test_verdicts() -> None:
    """Accepted findings do not refuse, warnings warn, and a rule about racks says nothing of AWS."""
    assert explained("image-not-pinned").verdict is Verdict.WAIVED
    over = {"lifecycle.expiry": "2026-11-20", "lifecycle.protect": False}
    assert explained("stack-expired", changes=over).verdict is Verdict.REFUSES
    assert explained("run-context", changes={"training.runs.0.sequenceLength": 16384}).verdict is Verdict.WARNS
    elsewhere = explained("server-unknown")
    assert (elsewhere.verdict, elsewhere.platform) == (Verdict.ELSEWHERE, "metal")
    assert explained("server-unknown", "metal").verdict is Verdict.HOLDS


def test_an_unknown_rule_is_corrected() -> None:
    """With the near one."""
    with pytest.raises(UnknownRuleError, match="there is no rule 'gang-fits-pol'; did you mean gang-fits-pool"):
        explained("gang-fits-pol")


def test_every_finding_on_metal_can_be_explained() -> None:
    """Whatever a refused site says, its rules explain."""
    refused = planned_metal({"training.runs.0.nodes": 32})
    assert refused.errors
    for finding in refused.findings:
        shown = explained(finding.rule, "metal", {"training.runs.0.nodes": 32})
        assert finding in shown.findings


def test_a_name_is_not_broken_at_80_columns() -> None:
    """C17: gangs.mistral-lora.memoryGbPerGpu stands on one line."""
    changed = planned(changes={"training.runs.0.name": "mistral-lora"})
    shown = printed(difference_text("dev", difference(planned(), changed), changed), 80)
    assert any(line.split()[0] == "gangs.mistral-lora.memoryGbPerGpu" for line in shown.splitlines() if line.strip())
