"""Where the alerts' limits lie, so that a panel turns red where an alert fires."""

from functools import cache

from monitoring.dashboards.model import Bounds
from monitoring.failure import Failure
from monitoring.failures import failures
from monitoring.thresholds import Threshold


@cache
def _by_id() -> dict[str, Failure]:
    return {failure.id: failure for failure in failures()}


def bounds(id_: str, limit: str, *, below: bool = False) -> Bounds:
    """The limit of a failure's alert: bad for what is critical, else to be looked at.

    Raises KeyError for a failure or a limit that there is not.
    """
    failure = _by_id()[id_]
    found = failure.limits[limit]
    if not isinstance(found, Threshold):
        raise KeyError(f"{id_}: {limit} is a list of codes, and no threshold")
    if failure.severity == "critical":
        return Bounds(bad=found.value, below=below)
    return Bounds(warn=found.value, below=below)
