"""Numbers that a person types after a finding are never below what the finding asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.wording import at_most, enough


@given(st.floats(min_value=0.001, max_value=1e8), st.integers(min_value=0, max_value=3))
def test_enough_is_the_next_number_of_so_many_places(amount: float, places: int) -> None:
    step = 10**-places
    assert amount <= float(enough(amount, places)) < amount + step + 1e-6


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (15454.8035, "15454.81"),
        (15454.80, "15454.80"),
        (90000, "90000.00"),
        # a sum of prices that ends a hair above a cent
        (0.1 + 0.2, "0.31"),
    ],
)
def test_enough_in_dollars(amount: float, said: str) -> None:
    assert enough(amount) == said


@given(st.floats(min_value=1e-6, max_value=1e12), st.integers(min_value=1, max_value=4))
def test_at_most_is_the_next_number_of_so_many_digits_below(amount: float, digits: int) -> None:
    found = float(at_most(amount, digits))
    assert 0 < found <= amount
    assert found > amount * (1 - 10 ** (1 - digits)) or digits == 1


@pytest.mark.parametrize(
    ("amount", "said"),
    [(1234.5, "1200"), (0.0456, "0.045"), (9.99, "9.9"), (77_751, "77000"), (1.9999999999999998, "1.9")],
)
def test_at_most_in_digits(amount: float, said: str) -> None:
    assert at_most(amount) == said
