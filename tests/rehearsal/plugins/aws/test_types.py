"""Every type of the table, from Check to Delete, against the AWS stand-in."""

from __future__ import annotations

import pytest

from rehearsal.plugins.aws.table import ROWS
from rehearsal.plugins.wire import UNKNOWN

from ..driver import Driver, State, changed
from .cases import CASES, Case
from .world import ATTACHMENT, World, name


def test_every_type_of_the_table_has_a_case() -> None:
    assert sorted(ROWS) == sorted(case.type for case in CASES)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: case.type.partition(":")[2].partition("/")[2].partition(":")[0]
)
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
        state = aws.update(state, changes)
        state = read_quietly(aws, state, changes)

    if case.replaces:
        diff = aws.diff(state, {**changes, **case.resolved(case.replaces, world)})
        assert tuple(diff.replaces) == case.replaced

    aws.delete(state)
    assert case.stays or aws.read(state) is None
    aws.delete(state)


def has_diff(aws: Driver, state: State, inputs: object) -> bool:
    return bool(changed(aws.diff(state, inputs)))


def read_quietly(aws: Driver, state: State, inputs: object) -> State:
    """Reads what nobody has touched: neither inputs nor outputs may differ from what create or update said."""
    again = aws.read(state)
    assert again
    assert again.id == state.id
    assert again.outputs == state.outputs
    assert changed(aws.diff(state, again.inputs)) == {}
    assert not has_diff(aws, again, inputs)
    return again
