"""Files of `node/`, which pods are given as they stand there."""

from functools import cache
from pathlib import Path

_NODE = Path(__file__).parents[2] / "node"


@cache
def node_files(*patterns: str) -> dict[str, str]:
    """Their texts by name, in the order of the patterns, such as `gates/*.py`; they lie side by side in one directory,
    as keys of a ConfigMap have none.
    """
    found = [path for pattern in patterns for path in sorted(_NODE.glob(pattern))]
    return {each.name: each.read_text(encoding="utf-8") for each in found}
