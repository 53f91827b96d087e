"""What is wrong of several machines for one reason is one result, and what is right of all is one for each check."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from doctor.results import Result, Status
from planner.site import HostPlan

_NAMED = 4


@dataclass(frozen=True)
class Wrong:
    """One thing of one machine."""

    check: str
    status: Status
    sentence: str
    remedy: str


def gathered(found: Mapping[str, Sequence[Wrong]], checks: Sequence[str], silent: str) -> tuple[Result, ...]:
    """Results of what was found of each machine by name. A machine with a finding of the check `silent` was not asked,
    and nothing of it is right."""
    wrong: dict[Wrong, list[str]] = {}
    fine: dict[str, list[str]] = {}
    for name, several in found.items():
        for each in several:
            wrong.setdefault(each, []).append(name)
        if any(each.check == silent for each in several):
            continue
        for check in set(checks) - {each.check for each in several}:
            fine.setdefault(check, []).append(name)
    results = [
        Result(check=each.check, status=each.status, subject=named(names), sentence=each.sentence, remedy=each.remedy)
        for each, names in wrong.items()
    ]
    results += [
        Result(
            check=check, status=Status.OK, subject=named(fine[check]), sentence=f"{len(fine[check])} as the plan says"
        )
        for check in checks
        if check in fine
    ]
    return tuple(results)


def named(names: Sequence[str]) -> str:
    """The first of them, and how many more."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def usual(said: Mapping[HostPlan, str]) -> Mapping[str | None, str]:
    """What most machines of a pool say."""
    counted: dict[str | None, Counter[str]] = {}
    for host, value in said.items():
        counted.setdefault(host.pool, Counter())[value] += 1
    return {pool: count.most_common(1)[0][0] for pool, count in counted.items()}
