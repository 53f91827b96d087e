"""What becomes of an interrupted operation: one row per situation."""

import re
from typing import Any

import pytest

from rehearsal.engine.events import Urn
from rehearsal.engine.lookup import Surroundings
from rehearsal.engine.naturalkeys import ForeignObjectError, NoNaturalKeyError
from rehearsal.engine.recover import Finding, Recovery, Verdict, decide
from rehearsal.engine.state import Pending
from rehearsal.kube.client import Unreachable
from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.kubernetes.helm_objects import NotReady

ADDRESS = "aws:ec2/eip:Eip"
AROUND = Surroundings({}, frozenset())


def pending(token: str = ADDRESS, kind: str = "creating") -> Pending:
    return Pending(Urn(f"urn:pulumi:dev::p::{token}::a"), kind, {}, "urn:pulumi:dev::p::pulumi:providers:aws::aws::1")


def answer(result: Any) -> Any:
    def find(_: Pending, __: Surroundings) -> list[str]:
        if isinstance(result, Exception):
            raise result
        return list(result)

    return find


@pytest.mark.parametrize(
    ("result", "verdict", "id", "says"),
    [
        (["eipalloc-1"], Verdict.IMPORT, "eipalloc-1", "found"),
        ([], Verdict.CLEAR, "", "nothing was made"),
        (["s-2", "s-1"], Verdict.LEAVE, "", r"several objects carry its tags \(s-1, s-2\)"),
        (ForeignObjectError("role exists with other tags"), Verdict.CLEAR, "", "not ours: role exists"),
        (NoNaturalKeyError("no key"), Verdict.LEAVE, "", "no key: look for it by hand"),
        (CallError("X", "UnauthorizedOperation", "no"), Verdict.LEAVE, "", "the lookup failed"),
        (Unreachable("connection refused"), Verdict.LEAVE, "", "connection refused"),
        (
            NotReady(["the definition stays"]),
            Verdict.LEAVE,
            "",
            "not be removed: the definition stays; try again",
        ),
    ],
)
def test_a_pending_create(result: Any, verdict: Verdict, id: str, says: str) -> None:
    finding = decide(pending(), AROUND, answer(result))
    assert (finding.verdict, finding.id) == (verdict, id)
    assert re.search(says, finding.reason)


@pytest.mark.parametrize("kind", ["updating", "deleting", "reading"])
def test_other_operations_are_done_again_by_the_next_update(kind: str) -> None:
    assert decide(pending(kind=kind), AROUND, answer(AssertionError("no lookup"))).verdict is Verdict.NEXT


def test_what_can_be_put_again_is_cleared_without_a_look() -> None:
    policy = pending("aws:s3/bucketPolicy:BucketPolicy")
    assert decide(policy, AROUND, answer(AssertionError("no lookup"))).verdict is Verdict.CLEAR


@pytest.mark.parametrize("token", ["gpucluster:index:Network", "pulumi:providers:aws"])
def test_what_exists_in_the_state_only_is_cleared_without_a_look(token: str) -> None:
    """The engine keeps the registration of a component as an operation, too."""
    component = Pending(Urn(f"urn:pulumi:dev::p::{token}::a"), "creating", {}, "")
    assert decide(component, AROUND, answer(AssertionError("no lookup"))).verdict is Verdict.CLEAR


def test_a_recovery_is_complete_when_nothing_is_left_to_decide() -> None:
    settled = Finding(Urn("urn:pulumi:dev::p::t:t:T::a"), "creating", Verdict.CLEAR, "")
    left = Finding(settled.urn, "creating", Verdict.LEAVE, "")
    assert Recovery(()).complete
    assert Recovery((settled,)).complete
    assert not Recovery((settled, left)).complete
