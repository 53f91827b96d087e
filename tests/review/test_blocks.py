"""What does not fit is cut where it decides least, and says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.blocks import Block, Rank, fitted

LINK = "[the artifact](https://example.org/a)"


def blocks(*sizes: int) -> list[Block]:
    """A decision, then a block of each rank from the losses down with so many lines."""
    ranks = (Rank.LOSSES, Rank.FINDINGS, Rank.NUMBERS, Rank.DIFF, Rank.NOISE)
    made = [Block(rank=Rank.DECISION, lines=["decided"])]
    for rank, size in zip(ranks, sizes, strict=False):
        lines = [f"{rank.name} {number}" for number in range(size)]
        fence = rank in {Rank.DIFF, Rank.NOISE}
        made.append(Block(rank=rank, lines=lines, head="```diff" if fence else "", tail="```" if fence else ""))
    return made


def test_what_fits_is_whole() -> None:
    text = fitted(blocks(2, 2, 2, 2, 2), 1_000, LINK)
    assert "more lines" not in text
    assert text.index("decided") < text.index("LOSSES 1") < text.index("NOISE 1")


def test_noise_goes_first_and_losses_last() -> None:
    """In the order of the ranks, and each cut block says how much is missing and where it is."""
    whole = blocks(20, 20, 20, 20, 20)
    everything = len(fitted(whole, 10_000, LINK))
    little = fitted(whole, everything - 20, LINK)
    assert "NOISE 19" not in little
    assert f"more lines: {LINK}" in little
    order = ["LOSSES", "FINDINGS", "NUMBERS", "DIFF", "NOISE"]
    told = [
        [rank for rank in order if f"{rank} 19" in fitted(whole, limit, LINK)] for limit in range(480, everything, 20)
    ]
    assert sorted({len(each) for each in told}) == [1, 2, 3, 4]
    assert all(each == order[: len(each)] for each in told)


@given(sizes=st.lists(st.integers(0, 60), min_size=5, max_size=5), limit=st.integers(700, 4_000))
def test_never_beyond_the_limit(sizes: list[int], limit: int) -> None:
    """And no line is lost without being counted."""
    made = blocks(*sizes)
    text = fitted(made, limit, LINK)
    assert len(text.encode()) <= limit
    shown = sum(1 for line in text.splitlines() if line.split(" ")[0] in Rank.__members__)
    told = {line for line in text.splitlines() if " more lines" in line}
    if shown < sum(sizes):
        assert told
    assert text.count("```diff") * 2 == text.count("```"), "a fence is left open"


def test_letters_count_as_bytes() -> None:
    """GitHub's limit is in characters; bytes are never fewer."""
    made = [Block(rank=Rank.DECISION, lines=["d"]), Block(rank=Rank.DIFF, lines=["ü" * 50] * 10)]
    assert len(fitted(made, 600, LINK).encode()) <= 600


def test_decisions_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ValueError, match="beyond 10"):
        fitted([Block(rank=Rank.DECISION, lines=["much too long for so little"])], 10, LINK)
