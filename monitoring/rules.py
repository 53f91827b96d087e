"""The documents that Prometheus loads, made from the table."""

from typing import Any

from monitoring.failure import Failure
from monitoring.failures import SUBJECTS, failures
from monitoring.limits import Limits
from monitoring.recording import recorded
from monitoring.thresholds import Threshold

Document = dict[str, Any]


def recording_groups(limits: Limits) -> list[Document]:
    """The groups of recording rules, as a PrometheusRule's spec has them."""
    return [group.document() for group in recorded(limits)]


def alert_groups(limits: Limits, runbooks: str) -> list[Document]:
    """The groups of alert rules, with pages below the address `runbooks`. Raises KeyError for a threshold of `limits`
    that the table does not have.
    """
    unknown = set(limits.thresholds) - set(adjustable())
    if unknown:
        raise KeyError(f"no failure has the threshold {', '.join('.'.join(each) for each in sorted(unknown))}")
    return [
        {
            "name": f"gpucluster.alerts.{subject.name}",
            "interval": subject.interval,
            "rules": [_adjusted(each, limits).document(runbooks) for each in subject.failures],
        }
        for subject in SUBJECTS
    ]


def adjustable() -> list[tuple[str, str]]:
    """Thresholds that a stack may replace, by failure and name."""
    return [
        (failure.id, name)
        for failure in failures()
        for name, limit in failure.limits.items()
        if isinstance(limit, Threshold)
    ]


def _adjusted(failure: Failure, limits: Limits) -> Failure:
    for (of, name), threshold in limits.thresholds.items():
        if of == failure.id:
            failure = failure.with_threshold(name, threshold)
    return failure
