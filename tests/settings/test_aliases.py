"""Stack files whose aliases grow when they are written out: read in no time, and refused in a sentence."""

import time
from pathlib import Path

import pytest

from settings.errors import SettingsError
from settings.load import from_file
from settings.stackfile import MOST_ALIASES, MOST_BYTES, MOST_VALUES, read

SECONDS = 10


def laughs(levels: int, many: int) -> str:
    """Lists of lists, `many` at each level."""
    lines = [f"a0: &a0 [{', '.join(['x'] * many)}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * many)}]" for n in range(1, levels)]
    return "\n".join(lines)


def merges(levels: int) -> str:
    """Mappings that merge the one before twice."""
    lines = ["m0: &m0 {k: 1, l: 2}"]
    lines += [f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (laughs(9, 10), f"holds more than {MOST_VALUES} values"),
        (laughs(40, 4), f"holds more than {MOST_VALUES} values"),
        (laughs(2, MOST_ALIASES + 1), f"more than {MOST_ALIASES} aliases"),
        (merges(60), "merges (<<) more than"),
        ("a: &a [*a]", "contains itself"),
        ("a: &a {b: {c: *a}}", "contains itself"),
        (f"a: {'x' * MOST_BYTES}", "split it"),
    ],
)
def test_what_would_take_for_ever_is_refused_at_once(text: str, why: str) -> None:
    began = time.monotonic()
    with pytest.raises(SettingsError) as refused:
        read(text, "Pulumi.dev.yaml")
    assert time.monotonic() - began < SECONDS
    (sentence,) = refused.value.problems
    assert sentence.startswith("Pulumi.dev.yaml")
    assert why in sentence


def test_aliases_that_save_typing_are_read() -> None:
    """Named twice is no more than written twice, and what is named may hold what was named before."""
    text = "a: &a [1, 2]\nb: &b {c: *a, d: *a}\ne: {<<: *b, f: *a}"
    assert read(text, "x")["e"] == {"c": [1, 2], "d": [1, 2], "f": [1, 2]}


def test_the_stack_file_that_kept_everything_busy_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text("config:\n" + "\n".join(f"  gpucluster:{line}" for line in laughs(9, 10).splitlines()))
    with pytest.raises(SettingsError, match="write out what is meant"):
        from_file(path)
