"""Recognises a failure by a process' output, for each row of the table of failures.

Rows stand in the order in which they explain each other: of ranks that fail together, the one whose words stand first
here is taken for the cause, the others for what follows from it. Words alone do not prove a sick machine: the row's
page says what to look at.
"""

from dataclasses import dataclass

from monitoring.failures import failures


@dataclass(frozen=True, kw_only=True)
class Sign:
    """A pattern (Python's `re`) in the last lines of a process, and who writes such lines. `failure` is a row's id."""

    failure: str
    pattern: str
    source: str


_CUDA = "CUDA Runtime API, cudaError_t (texts of cudaGetErrorString), as PyTorch puts them (CUDA error: ...)"
_LINUX = "Linux, errno(3), as Python's OSError and strerror(3) put it"

SIGNS: tuple[Sign, ...] = (
    Sign(
        failure="gpu-unavailable",
        pattern=r"fallen off the bus|device\(s\) is/are busy or unavailable|no CUDA-capable device is detected"
        r"|CUDA error: unknown error",
        source=_CUDA,
    ),
    Sign(failure="gpu-memory", pattern=r"uncorrectable ECC error encountered", source=_CUDA),
    Sign(failure="gpu-nvlink", pattern=r"uncorrectable NVLink error", source=_CUDA),
    Sign(
        failure="gpu-driver",
        pattern=r"CUDA error: unspecified launch failure|CUDA driver version is insufficient",
        source=f"{_CUDA}; a kernel's own bug ends as a launch failure too",
    ),
    Sign(
        failure="node-mount",
        pattern=r"Stale file handle|Transport endpoint is not connected|Read-only file system|Input/output error",
        source=_LINUX,
    ),
    Sign(failure="shared-files-full", pattern=r"No space left on device|Disk quota exceeded", source=_LINUX),
    Sign(
        failure="fabric-link",
        pattern=r"Unreachable remote|No eligible providers were found|NET/(OFI|IB).{0,80}[Ee]rror",
        source="libfabric, prov/efa/src/efa_errno.h; aws-ofi-nccl, nccl_ofi_net.cpp; NCCL, transport/net_ib.cc",
    ),
    Sign(
        failure="out-of-memory",
        pattern=r"CUDA out of memory|DataLoader worker .{0,40}killed by signal: Killed|Cannot allocate memory",
        source="PyTorch, c10/cuda/CUDACachingAllocator.cpp and torch/utils/data/_utils/signal_handling.py; errno(3)",
    ),
    Sign(
        failure="run-hangs",
        pattern=r"Watchdog caught collective operation timeout",
        source="PyTorch, torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
    ),
    Sign(failure="run-failed", pattern=r"", source="whatever else ended a process with an error"),
)

REASONS: tuple[Sign, ...] = (
    Sign(
        failure="node-unreachable",
        pattern=r"DeletionBy(TaintManager|PodGC):",
        source="Kubernetes, Pod disruption conditions: a NoExecute taint such as unreachable; a node that is no more",
    ),
    Sign(
        failure="node-memory",
        pattern=r"Evicted:.*low on resource: memory",
        source="Kubernetes, pkg/kubelet/eviction/helpers.go (The node was low on resource: ...)",
    ),
    Sign(
        failure="node-disk",
        pattern=r"Evicted:.*(low on resource: (ephemeral-storage|inodes)|exceeds the total limit)",
        source="Kubernetes, pkg/kubelet/eviction/helpers.go and eviction_manager.go",
    ),
    Sign(
        failure="out-of-memory",
        pattern=r"OOMKilled:",
        source="Kubernetes, ContainerStateTerminated.reason, as the container runtime tells it",
    ),
)
"""Patterns of what Kubernetes itself says of a pod or a container, as `reason: message`. It knows more than the process
could, so that these stand before all signs."""


def told() -> dict[str, list[dict[str, str]]]:
    """Both with what a person does first, as run-watch reads them."""
    rows = {each.id: each for each in failures()}

    def one(sign: Sign) -> dict[str, str]:
        row = rows[sign.failure]
        return {
            "pattern": sign.pattern,
            "failure": row.id,
            "alert": row.alert,
            "title": row.title,
            "next": row.actions[0].say,
            "page": f"docs/runbooks/{row.page}",
        }

    return {"reasons": [one(each) for each in REASONS], "signs": [one(each) for each in SIGNS]}
