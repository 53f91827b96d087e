"""How a replica stops: it leaves the Service, ends what it has begun, and goes. Seconds.

vLLM takes no new request after SIGTERM and goes on with those it has for `--shutdown-timeout` seconds, which is 0 by
itself: it would cut every stream (vLLM 0.29.0, vllm/v1/engine/core.py, _handle_shutdown; pull request 36666).
"""

from math import ceil

LEAVE_SECONDS = 15
"""From the pod's end to the last proxy that has heard of it: until then it serves as before (Kubernetes, Termination of
Pods: endpoints and containers are told at the same time)."""

TEARDOWN_SECONDS = 15
"""For vLLM's own processes to end after the last request."""

TRITON_DRAIN_SECONDS = 60
"""For a Triton server to end what it has begun: inferences take seconds, no minutes, as no streams of text."""

_SLACK = 2
"""A stream among others is slower than one alone, by which its length is counted."""

_SHORTEST, _LONGEST = 60, 600
"""What is planned at most is below the 15 minutes after which an EKS node group gives up to drain a node (EKS user
guide, managed node update behaviour: PodEvictionFailure)."""


def longest_stream_seconds(max_model_len: int, tokens_per_s: float) -> int:
    """Seconds that a request of full length takes at the least: it may generate all of it, alone on its replica."""
    return ceil(max_model_len / tokens_per_s)


def drain_seconds(longest_stream: int) -> int:
    """What a replica gets to end its streams where the stack file says nothing."""
    return min(max(_SHORTEST, _SLACK * longest_stream), _LONGEST)


def grace_seconds(drain: int) -> int:
    """From the pod's end to SIGKILL."""
    return LEAVE_SECONDS + drain + TEARDOWN_SECONDS
