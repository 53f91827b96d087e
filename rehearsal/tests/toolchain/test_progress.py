"""The guess of the time that is left, and what a person sees of a build."""

import io
import math
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rehearsal.toolchain import progress, screen
from rehearsal.toolchain.progress import Progress, Work, in_words, remaining

seconds = st.floats(0, 10_000, allow_nan=False)
positive = st.floats(1, 10_000, allow_nan=False)
pace = st.floats(0.1, 20)
works = st.lists(positive, min_size=1, max_size=12)


@st.composite
def under_way(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    """Expected seconds of all steps and measured ones of the first; at least one is left."""
    expected = draw(works)
    return expected, draw(st.lists(seconds, max_size=len(expected) - 1))


@given(under_way(), seconds, pace)
def test_a_guess_lies_between_the_best_and_the_worst_pace_seen(
    state: tuple[list[float], list[float]], running: float, usual: float
) -> None:
    expected, taken = state
    rest = expected[len(taken) :]
    seen = [usual, *(each / wanted for each, wanted in zip(taken, expected, strict=False))]
    worst = max(*seen, running / rest[0])
    guess = remaining(expected, taken, running, usual)
    assert math.isfinite(guess)
    assert guess >= min(seen) * sum(rest[1:]) * 0.999
    assert guess <= (worst * sum(rest) + running / 10) * 1.001


@given(works, pace)
def test_a_machine_of_the_usual_pace_is_told_exactly(expected: list[float], usual: float) -> None:
    for done in range(len(expected) + 1):
        taken = [usual * each for each in expected[:done]]
        left = usual * sum(expected[done:])
        assert remaining(expected, taken, 0, usual) == pytest.approx(left)


@given(works, st.integers(0, 11), pace, pace)
def test_every_measured_step_brings_the_guess_nearer_to_the_machine(
    expected: list[float], done: int, usual: float, real: float
) -> None:
    def off(measured: int) -> float:
        taken = [real * each for each in expected[:measured]]
        rest = sum(expected[measured:])
        return abs(remaining(expected, taken, 0, usual) / rest - real)

    if done + 1 < len(expected):
        assert off(done + 1) <= off(done) + 1e-9


@given(under_way(), seconds, seconds, pace)
def test_a_step_that_has_begun_needs_less_until_it_takes_longer_than_expected(
    state: tuple[list[float], list[float]], one: float, other: float, usual: float
) -> None:
    expected, taken = state
    begun = remaining(expected, taken, 0, usual)
    measured = (60 * usual + sum(taken)) / (60 + sum(expected[: len(taken)]))
    for running in (one, other):
        guess = remaining(expected, taken, running, usual)
        if running <= measured * expected[len(taken)] / 1.1:
            assert guess == pytest.approx(begun - running)
        assert guess > 0 or begun == 0 or running == 0


def test_what_is_compiled_already_shortens_the_guess() -> None:
    expected = [32.0, 150, 145, 34, 3, 20, 75]
    cold = remaining(expected, [], 0, 1)
    warm = remaining(expected, [2, 6], 0, 1)
    assert cold == sum(expected)
    assert warm < 0.4 * sum(expected[2:])


def test_a_step_that_takes_ten_times_as_long_makes_the_rest_longer_too() -> None:
    assert remaining([10, 100], [], 100, 1) > 2 * 100


def test_nothing_is_left_in_the_end() -> None:
    assert remaining([10, 20], [11, 22], 0, 1) == 0
    assert remaining([], [], 0, 1) == 0


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (0, "less than a minute left"),
        (44, "less than a minute left"),
        (45, "about 1 min left"),
        (100, "about 2 min left"),
        (840, "about 14 min left"),
    ],
)
def test_words_are_as_precise_as_a_guess(left: float, words: str) -> None:
    assert in_words(left) == words


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "usual_pace", lambda: 1.0)


def clock(*times: float) -> Iterator[float]:
    yield from times


def test_a_log_has_one_line_per_step_and_a_sum(two_cores: None) -> None:
    said: list[str] = []
    times = clock(0, 0, 300, 300, 300, 310)
    steps = Progress([Work("etcd 3", 300), Work("kwok 1", 600)], said.append, lambda: next(times))
    for _ in range(2):
        with steps.step():
            pass
    assert said == [
        "building etcd 3 (1 of 2, about 15 min left on this machine)",
        "building kwok 1 (2 of 2, about 10 min left on this machine)",
    ]
    assert steps.summary() == "built in 310 s: etcd 3 300 s, kwok 1 10 s"


def test_a_step_that_fails_is_not_counted(two_cores: None) -> None:
    steps = Progress([Work("etcd 3", 300)], lambda _: None)
    with pytest.raises(ValueError, match="failed"), steps.step():
        raise ValueError("failed")
    assert steps.summary() == "built in 0 s: "


def test_a_terminal_shows_one_line_that_tells_the_elapsed_time(two_cores: None) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=120, color_system=None)
    running, shown = [0.0], threading.Event()

    def now() -> float:
        if running[0]:
            shown.set()
        return running[0]

    steps = Progress([Work("etcd 3", 300)], screen.on(console, "  "), now)
    with steps.step():
        running[0] = 61.0
        assert shown.wait(10)
    assert "  building etcd 3 (1 of 1, about 4 min left on this machine), 61 s so far" in written.getvalue()
    assert written.getvalue().rstrip().endswith("built etcd 3 in 61 s")


def test_a_log_gets_no_line_that_changes(two_cores: None) -> None:
    written = io.StringIO()
    steps = Progress([Work("etcd 3", 300)], screen.on(Console(file=written, width=40), "  "))
    with steps.step():
        pass
    assert written.getvalue() == "  building etcd 3 (1 of 1, about 5 min left on this machine)\n"


def test_fewer_cores_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    paces = []
    for cores in (1, 2, 4, 64):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        paces.append(progress.usual_pace())
    assert paces == [2, 1, 0.5, 0.25]
