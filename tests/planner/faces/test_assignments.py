"""What `SET` takes: assignments to paths of the stack file."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.faces.assignments import AssignmentError, assigned, assignments
from tests.planner.stacks import sections


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
