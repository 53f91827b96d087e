"""The comment: a hidden marker, one decision per stack, then what is behind it."""

from collections.abc import Iterator, Sequence

from review.blocks import Block, Rank, fitted
from review.compared import Compared
from review.decision import decision
from review.post import LIMIT, MARKER
from review.sections import sections
from review.words import plain

FOOTER = 1_000
"""What is left for who posts it, to say of which run it is."""


def comment(stacks: Sequence[Compared], *, base: str, whole: str, limit: int = LIMIT - FOOTER) -> str:
    """The Markdown of one comment about all stacks, those that are refused first; `whole` says where everything is.

    Raises ValueError if even the decisions do not fit.
    """
    ordered = sorted(stacks, key=lambda each: (not each.refused, each.stack))
    return fitted([*_head(ordered, base), *(block for each in ordered for block in sections(each))], limit, whole)


def _head(stacks: Sequence[Compared], base: str) -> Iterator[Block]:
    lines = [MARKER]
    if not stacks:
        lines.append(f"No stack changes against `{base}`: neither a stack file nor the program's code differs.")
    else:
        lines += [f"- **{each.stack}**: {decision(each)}" for each in stacks]
        unseen: dict[str, list[str]] = {}
        for each in stacks:
            unseen.setdefault(each.unseen, []).append(each.stack)
        said = [
            f"{', '.join(names)}: {plain(why)}" if len(unseen) > 1 else plain(why)
            for why, names in unseen.items()
            if why
        ]
        lines += ["", " ".join([f"Compared with `{base}`.", *said])]
    yield Block(rank=Rank.DECISION, lines=lines)
