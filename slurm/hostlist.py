"""Names of machines as Slurm writes many of them: gpu-[01-08,12]."""

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)(\d+)$")


def hostlist(names: Iterable[str]) -> str:
    """The names in their order, those that differ by a number at the end in one pair of brackets."""
    groups: dict[tuple[str, int], list[int]] = {}
    found: list[str | tuple[str, int]] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            found.append(name)
            continue
        # Slurm counts within one width: 9 and 10 are of one range where neither begins with a zero.
        width = len(match[2]) if match[2].startswith("0") and len(match[2]) > 1 else 0
        key = next((each for each in groups if each[0] == match[1] and each[1] in (width, len(match[2]))), None)
        if key is None:
            key = match[1], width
            found.append(key)
        groups.setdefault(key, []).append(int(match[2]))
    return ",".join(each if isinstance(each, str) else _written(*each, groups[each]) for each in found)


def _written(prefix: str, width: int, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{prefix}{numbers[0]:0{width}}"
    return f"{prefix}[{','.join(_ranges(sorted(numbers), width))}]"


def _ranges(numbers: list[int], width: int) -> Iterable[str]:
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        yield f"{first:0{width}}" if first == last else f"{first:0{width}}-{last:0{width}}"
        if number is not None:
            first = last = number
