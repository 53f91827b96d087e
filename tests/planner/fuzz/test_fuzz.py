"""Random stack files: never a traceback, every refusal a sentence, every accepted plan consistent with itself.

`FUZZ=5000` tries as many; the same number always makes the same file.
"""

from random import Random

import pytest

from tests.examples import FUZZ
from tests.planner.fuzz.checks import answer
from tests.planner.fuzz.documents import Change, changed, document, ends

_PARTS = 4
"""Tests that the examples are divided among, for as many workers."""


def smallest(base: dict[str, object], changes: list[Change]) -> tuple[list[Change], Exception | AssertionError]:
    """Those of the changes without which the fault is not seen, and the fault."""
    fault: Exception | AssertionError = AssertionError("seen once, and not again")
    kept = list(changes)
    for change in (None, *changes):
        fewer = [each for each in kept if each is not change]
        try:
            answer(changed(base, fewer))
        except Exception as error:
            kept, fault = fewer, error
    return kept, fault


@pytest.mark.parametrize("part", range(_PARTS))
def test_every_stack_file_gets_an_answer(part: int) -> None:
    """A08: whatever stands in a stack file, the answer is sentences about it, or a plan that holds."""
    became: list[str] = []
    for number in range(part, FUZZ, _PARTS):
        base, changes = document(Random(number))  # noqa: S311 - nothing is kept secret with it
        try:
            became.append(answer(changed(base, changes)))
        except Exception as error:
            kept, fault = smallest(base, changes)
            raise AssertionError(f"file {number}, with {kept}: {fault!r}") from error
    assert {"refused", "errors", "planned"} <= set(became)


def test_rows_at_the_ends_of_their_numbers_get_an_answer() -> None:
    """B01: whatever a site says of a machine that its stack uses, the answer is sentences or a plan that holds."""
    looked_at = list(ends())
    assert looked_at
    for what, data in Random(1).sample(looked_at, min(FUZZ // 8, len(looked_at))):  # noqa: S311
        try:
            answer(data)
        except Exception as error:
            raise AssertionError(what) from error
