"""Whatever number stands in a stack file, the answer is a plan with findings or sentences about the settings."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan import plan
from settings.errors import SettingsError
from settings.load import from_sections
from settings.presets import preset, preset_names
from tests.planner.stacks import TODAY

EXTREMES = (0, -1, 1, 2, 7, 0.5, 4096, 10**9, 10**18, 1e-9)
Path = tuple[str | int, ...]


def numbers(value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths of the numbers in plain data."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield path
    for key, below in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from numbers(below, (*path, key))


NUMBERS = [(name, path) for name in preset_names() for path in numbers(preset(name))]


def answer(name: str, path: Path, value: float) -> bool:
    """Whether the preset plans with a number replaced. Anything but a plan or sentences is raised."""
    data = deepcopy(preset(name)) | {"lifecycle": {"owner": "ml-platform", "costCentre": "research"}}
    *above, last = path
    here: Any = data
    for step in above:
        here = here[step]
    here[last] = value
    try:
        found = plan(from_sections(data), today=TODAY)
    except SettingsError as error:
        return _explained(error.problems)
    assert all(finding.sentence and finding.remedy for finding in found.findings)
    return True


def _explained(problems: Iterable[str]) -> bool:
    """False, as the settings are refused; fails if a sentence does not begin with its path."""
    assert all(problem.startswith("gpucluster:") for problem in problems)
    return False


@given(where=st.sampled_from(NUMBERS), value=st.sampled_from(EXTREMES))
def test_no_number_ends_in_a_traceback(where: tuple[str, Path], value: float) -> None:
    """A08: out of range is a settings error, inconsistent a finding, and nothing else happens."""
    answer(*where, value)


@pytest.mark.parametrize("value", [-1, 10**9])
@pytest.mark.parametrize("name", preset_names())
def test_counts_of_nodes_have_bounds(name: str, value: int) -> None:
    """A08: a negative and a billion nodes are errors of the settings, in every pool."""
    counts = [path for preset_, path in NUMBERS if preset_ == name and path[0] == "pools" and path[-1] == "count"]
    assert counts
    assert not any(answer(name, path, value) for path in counts)
