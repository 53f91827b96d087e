"""What of the plugins' words a person is not told, because every good run has it."""

from rehearsal.engine.events import Diagnostic

NOISE = (
    "no storage class found for",
    "[PodInitializing]",
    "[MinimumReplicasUnavailable]",
    "containers with incomplete",
)
"""Passing warnings of pulumi-kubernetes that every good `up` has: static claims, pods that start."""


def is_noise(diagnostic: Diagnostic) -> bool:
    """Whether the line tells of nothing that is wrong."""
    return (
        diagnostic.passing and diagnostic.severity == "warning" and any(words in diagnostic.message for words in NOISE)
    )
