"""How long the kubernetes plugin waits, for what, and in which order things go."""

import re
from typing import Any

import pytest

from rehearsal.plugins.kubernetes import waitfor
from rehearsal.plugins.kubernetes.awaiting import patience
from rehearsal.plugins.kubernetes.lifecycle import propagation

ACCEPTED = 'jsonpath={.status.parents[*].conditions[?@.type=="Accepted"].status}=True'
REFS = [{"type": "ResolvedRefs", "status": "True"}]


@pytest.mark.parametrize(
    ("text", "obj", "expected"),
    [
        ("condition=Ready", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, []),
        ("condition=Ready=False", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, []),
        ("condition=Ready", {}, ["condition Ready is not set, waiting for True"]),
        ("jsonpath={.status.items[0].state}=Open", {"status": {"items": [{"state": "Open"}]}}, []),
        ("jsonpath={.status['a.b']}", {"status": {"a.b": 1}}, []),
        ("jsonpath={.status.n}=2", {"status": {"n": 1}}, ["field status.n is 1, waiting for 2"]),
        (ACCEPTED, {"status": {"parents": [{"conditions": [*REFS, {"type": "Accepted", "status": "True"}]}]}}, []),
        (ACCEPTED, {"status": {"parents": [{"conditions": [*REFS, {"type": "Accepted", "status": "False"}]}]}}, 1),
        (ACCEPTED, {"status": {"parents": [{"conditions": REFS}]}}, 1),
        ('["condition=A", "condition=B"]', {"status": {"conditions": [{"type": "A", "status": "True"}]}}, 1),
    ],
)
def test_wait_for(text: str, obj: dict[str, Any], expected: Any) -> None:
    missing = waitfor.unmet(obj, waitfor.parse(text))
    assert len(missing) == expected if isinstance(expected, int) else missing == expected


@pytest.mark.parametrize("text", ["state=Open", "jsonpath=.status.state", "jsonpath={.a[?@.b > 1].c}"])
def test_wait_for_that_cannot_be_read_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text)) + " is neither"):
        waitfor.parse(text)


def test_a_condition_of_an_older_generation_does_not_count() -> None:
    status = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}
    assert waitfor.unmet({"metadata": {"generation": 2}, "status": status}, ["condition=Ready"])


@pytest.mark.parametrize(("generation", "missing"), [(2, 0), (3, 1)])
def test_a_condition_says_itself_of_which_generation_it_is(generation: int, missing: int) -> None:
    """As the Gateway API's do, whose status has no generation of its own."""
    status = {"conditions": [{"type": "Programmed", "status": "True", "observedGeneration": 2}]}
    found = waitfor.unmet({"metadata": {"generation": generation}, "status": status}, ["condition=Programmed"])
    assert len(found) == missing


def test_patience_prefers_custom_timeouts_then_the_annotation() -> None:
    inputs = {"metadata": {"annotations": {"pulumi.com/timeoutSeconds": "7"}}}
    assert patience(inputs, 3) == 3
    assert patience(inputs, 0) == 7
    assert patience({}, 0) == 600
    assert patience({"metadata": {"annotations": {"pulumi.com/timeoutSeconds": "5m"}}}, 0) == 600


@pytest.mark.parametrize(
    ("stated", "expected"),
    [(None, "Foreground"), ("background", "Background"), ("Orphan", "Orphan"), ("no such word", "Foreground")],
)
def test_dependents_go_first_unless_the_program_says_otherwise_lf27(stated: str | None, expected: str) -> None:
    annotations = {"pulumi.com/deletionPropagationPolicy": stated} if stated else {}
    assert propagation({"metadata": {"annotations": annotations}}) == expected
