"""Parts of a comment, and how they are made to fit: what decides least is cut first, and says where the rest is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum


class Rank(IntEnum):
    """What is cut first has the lowest."""

    NOISE = 0
    DIFF = 1
    NUMBERS = 2
    FINDINGS = 3
    LOSSES = 4
    DECISION = 5


@dataclass(frozen=True, kw_only=True)
class Block:
    """Lines between a head and a tail, which stay with them; a block without lines is not shown."""

    rank: Rank
    lines: Sequence[str]
    head: str = ""
    tail: str = ""
    left_out: int = 0

    def text(self, link: str) -> str:
        """The block as it is written; `link` leads to the whole."""
        if not self.lines and not self.left_out:
            return ""
        fenced = self.head.rstrip().endswith("```diff")
        missing = f"{self.left_out:,} more lines"
        note = missing if fenced else f"\n{missing}: {link}"
        cut = [note] if self.left_out else []
        after = [f"{missing}: {link}", ""] if self.left_out and fenced else []
        return "\n".join([*filter(None, [self.head]), *self.lines, *cut, *filter(None, [self.tail]), *after]) + "\n"


def fitted(blocks: Sequence[Block], limit: int, link: str) -> str:
    """The blocks' text in at most `limit` bytes of UTF-8, which are never fewer than characters.

    Raises ValueError if even the lines that decide do not fit.
    """
    kept = list(blocks)
    while (over := _size(kept, link) - limit) > 0:
        index = _to_cut(kept)
        if index is None:
            raise ValueError(f"the decisions alone are {over:,} bytes beyond {limit:,}")
        kept[index] = _shorter(kept[index], over, link)
    return _joined(kept, link)


def _joined(blocks: Sequence[Block], link: str) -> str:
    return "\n".join(text for block in blocks if (text := block.text(link)))


def _size(blocks: Sequence[Block], link: str) -> int:
    return len(_joined(blocks, link).encode())


def _to_cut(blocks: Sequence[Block]) -> int | None:
    """The longest of those that decide least."""
    can = [index for index, block in enumerate(blocks) if block.lines and block.rank is not Rank.DECISION]
    sizes = {index: sum(len(line.encode()) for line in blocks[index].lines) for index in can}
    return min(can, key=lambda index: (blocks[index].rank, -sizes[index]), default=None)


def _shorter(block: Block, over: int, link: str) -> Block:
    """The block without its last lines, so many that `over` bytes are gone, the note of them included."""
    lines, left = list(block.lines), block.left_out
    note = 0 if left else 2 * len(f"{left + len(lines):,} more lines: {link}".encode()) + 4
    freed = -note
    while lines and freed < over:
        freed += len(lines.pop().encode()) + 1
        left += 1
    return replace(block, lines=lines, left_out=left)
