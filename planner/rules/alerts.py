"""Thresholds of a stack's own: each replaces one of the table of failures, once."""

from collections.abc import Iterable
from difflib import get_close_matches

from monitoring.rules import adjustable
from planner.draft import Draft, rule
from planner.findings import Observation


@rule(
    "ST17 X02",
    formula="(failure, limit) is a threshold of the table of failures, and stands there once",
    source="monitoring/failures: the limits of each failure; its page in docs/runbooks names them",
)
def alert_threshold(draft: Draft) -> Iterable[Observation]:
    """A threshold in the stack file names a failure that exists, and no failure has two for the same limit."""
    if draft.monitoring is None:
        return
    there = {f"{failure} {limit}" for failure, limit in adjustable()}
    seen: set[str] = set()
    for index, each in enumerate(draft.monitoring.alerts.thresholds):
        name = f"{each.failure} {each.limit}"
        if name not in there:
            near = get_close_matches(name, sorted(there), n=3, cutoff=0.4)
            yield Observation(
                path=f"monitoring.alerts.thresholds[{index}]",
                sentence=f"no failure {each.failure} has a threshold {each.limit}",
                remedy=f"take one of: {', '.join(near or sorted(there))}",
            )
        elif name in seen:
            yield Observation(
                path=f"monitoring.alerts.thresholds[{index}]",
                sentence=f"the threshold {each.limit} of {each.failure} is set twice",
                remedy="remove one of the two",
            )
        seen.add(name)
