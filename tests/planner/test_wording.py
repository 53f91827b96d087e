"""Numbers that a person types after a finding are never below what the finding asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.wording import enough


@given(st.floats(min_value=0.001, max_value=1e8), st.integers(min_value=0, max_value=3))
def test_enough_is_the_next_number_of_so_many_places(amount: float, places: int) -> None:
    step = 10**-places
    assert amount - 1e-6 * step <= float(enough(amount, places)) < amount + step + 1e-6


@pytest.mark.parametrize(("amount", "said"), [(15454.8035, "15454.81"), (15454.80, "15454.80"), (90000, "90000.00")])
def test_enough_in_dollars(amount: float, said: str) -> None:
    assert enough(amount) == said
