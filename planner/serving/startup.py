"""A replica's life: where its model comes from, when it answers, how it stops. Seconds; rates in GB/s one way."""

from dataclasses import dataclass
from math import ceil

from catalogue.units import BYTES_PER_GB
from planner.storage.tiers import SCHEDULED_SECONDS, SUMS_GB_PER_S

_HUB, _CLAIM = "hf://", "pvc://"


@dataclass(frozen=True, kw_only=True)
class HubSource:
    """A model of huggingface.co (ORGANISATION/MODEL) as one commit has it."""

    repository: str
    revision: str


@dataclass(frozen=True, kw_only=True)
class ClaimSource:
    """A directory of a claim that is there already, in the namespace of the service."""

    claim: str
    path: str


@dataclass(frozen=True, kw_only=True)
class ObjectSource:
    """What lies below an address SCHEME://BUCKET/PREFIX of the platform's object store."""

    uri: str


Source = HubSource | ClaimSource | ObjectSource


def source_of(address: str) -> Source:
    """What an address of the plan names: `hf://MODEL@COMMIT`, `pvc://CLAIM/DIRECTORY`, or an object store's own."""
    if address.startswith(_HUB):
        repository, _, revision = address.removeprefix(_HUB).partition("@")
        return HubSource(repository=repository, revision=revision)
    if address.startswith(_CLAIM):
        claim, _, path = address.removeprefix(_CLAIM).partition("/")
        return ClaimSource(claim=claim, path=path)
    return ObjectSource(uri=address)


_SHORTEST_BUDGET_S = 600
_BUDGET_FACTOR = 2
_IMAGE_GB = 10.0
_PULL_GB_PER_S = 0.2
_HUB_GB_PER_S = 0.1
"""Assumed: a hub promises no rate, and a node's way to it goes through a NAT or a proxy."""

_PROCESS_GB_PER_S = 2.0
"""Assumed: what one process of vLLM copies from the page cache to its GPU, tensor by tensor."""


def load_seconds(weights_bytes: float, gb_per_s: float) -> float:
    """Seconds to read the weights from a store of that rate."""
    return weights_bytes / (gb_per_s * BYTES_PER_GB)


def load_rate_gb_per_s(shared: float, node: float | None, pcie: float, gpus: int) -> float:
    """The slowest on the weights' way to so many GPUs of a node, in GB/s: the file system's whole rate, the node's
    network to it (None or 0: unknown), the GPUs' PCIe lanes, the processes that read, one for each GPU.
    """
    return min(shared, gpus * pcie, gpus * _PROCESS_GB_PER_S, *((node,) if node else ()))


def startup_seconds(load_s: float) -> int:
    """Budget of the startup probe: twice the time to read the weights, at least 600 s for compilation.

    Without it the liveness probe would kill a server that still loads, again and again.
    """
    return max(_SHORTEST_BUDGET_S, int(_BUDGET_FACTOR * load_s))


def scale_up_seconds(load_s: float) -> float:
    """Seconds from the autoscaler's decision to the first answer on a node that is there: image and weights.

    The image's 10 GB at 0.2 GB/s are assumed for a node without it.
    """
    return _IMAGE_GB / _PULL_GB_PER_S + load_s


ASK_SECONDS = 15
"""How often KEDA asks what its autoscaling depends on (ScaledObject, pollingInterval)."""


def wake_seconds(scrape_s: int, scale_up_s: float) -> int:
    """Seconds from the first request to a service without replicas to its first answer: until Prometheus has read the
    gateway's count, KEDA has asked Prometheus, and a replica has come up on a node that is there.
    """
    return ceil(scrape_s + ASK_SECONDS + scale_up_s)


def copy_seconds(weights: str, weights_bytes: float, from_store_s: int) -> int:
    """Budget of the Job that brings a model to the file system: `from_store_s` from an object store; from a hub twice
    what it takes at 0.1 GB/s. Until the Job has a node comes on top, and for objects twice what it takes to compare
    them with their SHA256SUMS.
    """
    hub = isinstance(source_of(weights), HubSource)
    slow = int(_BUDGET_FACTOR * load_seconds(weights_bytes, _HUB_GB_PER_S)) if hub else 0
    stored = isinstance(source_of(weights), ObjectSource)
    compared = int(_BUDGET_FACTOR * load_seconds(weights_bytes, SUMS_GB_PER_S)) if stored else 0
    return max(from_store_s, slow) + compared + SCHEDULED_SECONDS


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
