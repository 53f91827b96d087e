"""Probes of model servers: Q04, IN04."""

import math

import pulumi_kubernetes as k8s

STARTUP_PERIOD_SECONDS = 10


def probe(path: str, *, period: int, failures: int, port: str | int = "http") -> k8s.core.v1.ProbeArgs:
    """A probe of a server's health path; it answers without a key."""
    return k8s.core.v1.ProbeArgs(
        http_get=k8s.core.v1.HTTPGetActionArgs(path=path, port=port),
        period_seconds=period,
        failure_threshold=failures,
        timeout_seconds=5,
    )


def startup_probe(path: str, seconds: int, *, port: str | int = "http") -> k8s.core.v1.ProbeArgs:
    """One that waits so many seconds for a model to be read; until it has passed, the others do not count."""
    return probe(path, period=STARTUP_PERIOD_SECONDS, failures=math.ceil(seconds / STARTUP_PERIOD_SECONDS), port=port)
