"""Every type of the table, from Check to Delete, against the AWS stand-in."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import grpc
import pytest

from rehearsal.engine import lookup
from rehearsal.engine.events import Urn
from rehearsal.engine.lookup import Surroundings
from rehearsal.engine.naturalkeys import ForeignObjectError, by_tags, repeatable
from rehearsal.engine.state import Pending
from rehearsal.plugins.aws.row import FIELD
from rehearsal.plugins.aws.table import ROWS
from rehearsal.plugins.wire import UNKNOWN, decode
from rehearsal.tests.plugins.aws.case import Case
from rehearsal.tests.plugins.aws.cases import CASES
from rehearsal.tests.plugins.aws.conftest import REGION, Cloud
from rehearsal.tests.plugins.aws.world import ATTACHMENT, TABLE_ASSOCIATION, World, name
from rehearsal.tests.plugins.driver import Driver, RefusalError, State, changed


def test_every_type_of_the_table_has_a_case() -> None:
    assert sorted(ROWS) == sorted({case.type for case in CASES})


every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.type.rpartition(":")[2])


@every_case
def test_life_of_an_object(case: Case, aws: Driver, world: World) -> None:
    inputs = case.inputs(world)
    stem = name("x")
    hoped = aws.preview(case.type, stem, inputs)
    assert all(hoped[output] == UNKNOWN for output in case.outputs if output not in ("name", "bucket")), hoped

    state = aws.create(case.type, stem, inputs)
    assert set(case.outputs) <= state.outputs.keys()
    assert not has_diff(aws, state, inputs)
    state = read_quietly(aws, state, inputs)

    imported = aws.imported(case.type, stem, case.import_id(state))
    assert imported
    assert imported.id == state.id or case.type == ATTACHMENT  # the provider makes that one up
    assert changed(aws.diff(imported, inputs)) == {}

    changes = {**inputs, **case.resolved(case.changes, world)}
    if case.changes:
        assert changed(aws.diff(state, changes)) == case.diff
        assert not aws.diff(state, changes).replaces
        before, state = state, aws.update(state, changes)
        shows_drift(aws, before, inputs, changes)
        state = read_quietly(aws, state, changes)

    if case.replaces:
        wanted = {**changes, **case.resolved(case.replaces, world)}
        diff = aws.diff(state, wanted)
        assert tuple(diff.replaces) == case.replaced
        assert diff.deleteBeforeReplace or not same_place(case.type, changes, wanted)

    aws.delete(state)
    assert case.stays or aws.read(state) is None
    aws.delete(state)


@every_case
def test_what_a_killed_engine_made_is_found_again(case: Case, aws: Driver, world: World) -> None:
    """By what the engine keeps of a create that has begun: the checked inputs. Another stack's object is not taken."""
    stem = name("killed")
    inputs = case.inputs(world) | ({"tags": {"Name": stem}} if ROWS[case.type].tags else {})
    state = aws.create(case.type, stem, inputs)
    kept, _ = decode(state.inputs)
    if repeatable(case.type):
        aws.create(case.type, stem, inputs)
    else:
        assert found(case.type, kept) == [state.id]
        assert lookup.settled(interrupted(case.type, kept), state.id, AROUND) in finished(case.type)
        assert found(case.type, kept, known=frozenset({state.id})) == []
    if by_tags(case.type):
        assert found(case.type, kept | {"tags": {"Name": "another"}}) == []
    elif ROWS[case.type].tags and not ROWS[case.type].unique:
        with pytest.raises(ForeignObjectError):
            found(case.type, kept | {"tags": {"Name": "another"}})
    aws.delete(state)
    if not repeatable(case.type):
        assert found(case.type, kept) == []


@pytest.mark.parametrize(
    ("case", "said"),
    [pytest.param(case, said, id=f"{case.type}-{said}") for case in CASES for said in case.refused],
)
def test_what_aws_refuses_is_refused(
    case: Case, said: str, aws: Driver, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what passes where a role is only too new to be seen."""
    monkeypatch.setattr("rehearsal.plugins.aws.life.PROPAGATION", 0.1)
    with pytest.raises((RefusalError, grpc.RpcError), match=said):
        aws.create(case.type, name("refused"), {**case.inputs(world), **case.refused[said]})


@pytest.mark.parametrize("case", [case for case in CASES if case.fill], ids=lambda case: case.type)
def test_what_is_not_empty_goes_only_by_force(case: Case, aws: Driver, world: World, cloud: Cloud) -> None:
    assert case.fill
    inputs = {key: value for key, value in case.inputs(world).items() if key not in case.force}
    state = aws.create(case.type, name("full"), inputs)
    case.fill(cloud.client, state)
    with pytest.raises(grpc.RpcError, match=f"NotEmpty.*set {next(iter(case.force))}"):
        aws.delete(state)
    state = aws.update(state, {**inputs, **case.force})
    aws.delete(state)
    assert aws.read(state) is None


AROUND = Surroundings({"region": REGION, "defaultTags": {"tags": {"stack": "test"}}}, frozenset())


def interrupted(token: str, inputs: dict[str, Any]) -> Pending:
    return Pending(Urn(f"urn:pulumi:test::project::{token}::x"), "creating", inputs, "provider")


def found(token: str, inputs: dict[str, Any], known: frozenset[str] = frozenset()) -> list[str]:
    return lookup.find(interrupted(token, inputs), replace(AROUND, known=known))


def finished(token: str) -> tuple[str, ...]:
    """The states of an object that is made; none for what is made in one go."""
    wait = ROWS[token].wait
    return wait.done if wait else ("",)


def same_place(token: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the inputs give both objects one id: made first, the new one would go with the old one."""
    names = FIELD.findall(str(ROWS[token].id))
    return bool(names) and all(name in one and one[name] == other.get(name) for name in names)


def has_diff(aws: Driver, state: State, inputs: object) -> bool:
    return bool(changed(aws.diff(state, inputs)))


def shows_drift(aws: Driver, before: State, inputs: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """A refresh of what somebody else has changed: the state takes it in, and the program would put it back.

    What the program leaves to AWS may be anything, and another table makes another association.
    """
    refreshed = aws.read(before)
    if before.type == TABLE_ASSOCIATION:
        assert refreshed is None
        return
    assert refreshed
    assert not has_diff(aws, refreshed, now)
    if any(inputs[key] != now[key] for key in inputs):
        assert has_diff(aws, refreshed, inputs)


def read_quietly(aws: Driver, state: State, inputs: object) -> State:
    """Reads what nobody has touched: neither inputs nor outputs may differ from what create or update said."""
    again = aws.read(state)
    assert again
    assert again.id == state.id
    assert again.outputs == state.outputs
    assert changed(aws.diff(state, again.inputs)) == {}
    assert not has_diff(aws, again, inputs)
    return again
