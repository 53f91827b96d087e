"""survivors.toml: the mutants that may live, each with the reason why no test can or should kill it."""

import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.points import Key, Mutant

MOST_PER_HUNDRED = 3


def read(path: Path) -> dict[Key, str]:
    """Reasons by what they excuse. Raises ValueError if one is empty or said twice."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", []) if path.exists() else []
    reasons: dict[Key, str] = {}
    for row in rows:
        key: Key = (row["file"], row["function"], row["text"], row["how"])
        if not row.get("reason") or key in reasons:
            raise ValueError(f"{path.name}: {' '.join(key)} needs one reason; it has none, or two")
        reasons[key] = row["reason"]
    return reasons


def rate(survivors: int, tried: int) -> str:
    """N of M survive (P %)."""
    return f"{survivors} of {tried} survive ({100 * survivors / tried if tried else 0:.1f} %)"


def verdict(
    survivors: Sequence[Mutant], tried: Sequence[Mutant], files: Sequence[str], reasons: dict[Key, str]
) -> tuple[list[str], bool]:
    """What is said at the end, `N of M survive (P %)` last, and whether all is well.

    Well is: at most three in a hundred survive (one, of few), each has its reason, and no reason is left over.
    """
    lines = []
    for mutant, times in Counter(survivors).items():
        reason = reasons.get(mutant.key)
        lines.append(f"{mutant}{f' ({times} times)' * (times > 1)}" + (f"  [{reason}]" if reason else ""))
    bare = [each for each in survivors if each.key not in reasons]
    living, known = {each.key for each in survivors}, {each.key for each in tried}
    idle = [key for key in reasons if key[0] in files and key not in living]
    for key in idle:
        why = "dies now" if key in known else "is nowhere in the source"
        lines.append(f"survivors.toml has a reason for what {why}; take it out: {' | '.join(key)}")
    if bare:
        lines.append(f"{len(bare)} without a reason in survivors.toml: write a test that kills them, or the reason")
    lines.append(rate(len(survivors), len(tried)))
    few = len(survivors) <= max(1, MOST_PER_HUNDRED * len(tried) // 100)
    return lines, few and not bare and not idle
