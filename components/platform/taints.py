"""Labels and taints of our nodes, and the tolerations that answer them (J09, KJ22).

GPU nodes carry `nvidia.com/gpu=present:NoSchedule`, which the GPU Operator does not set. Inference nodes carry
their pool's own taint as well, so that a gang does not take the GPUs kept for serving.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

POOL_KEY = "gpucluster/pool"
ROLE_KEY = "gpucluster/role"
GATE_KEY = "gpucluster/gate"
"""Label of a node: what its gate found (pass, warn or fail); taint of one that failed (node/gates/publish.py)."""

GPU_KEY = "nvidia.com/gpu"
GPU_PRODUCT_KEY = "nvidia.com/gpu.product"
GPU_RESOURCE = "nvidia.com/gpu"


@dataclass(frozen=True, kw_only=True)
class Taint:
    """A node taint, spelled as Kubernetes does."""

    key: str
    value: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"

    @property
    def toleration(self) -> dict[str, str]:
        """Toleration of exactly this taint."""
        return {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}


GPU_TAINT = Taint(key=GPU_KEY, value="present")


def pool_taints(name: str, role: str, *, gpus: int) -> tuple[Taint, ...]:
    """Taints of a pool's nodes: none without GPUs, the GPU taint with them, the pool's own as well for inference."""
    if not gpus:
        return ()
    return (GPU_TAINT, Taint(key=POOL_KEY, value=name)) if role == "inference" else (GPU_TAINT,)


def pool_labels(name: str, role: str) -> dict[str, str]:
    """Labels of a pool's nodes."""
    return {POOL_KEY: name, ROLE_KEY: role}


def label_value(words: str) -> str:
    """Words, such as a serial number, as the value of a label: 63 letters, digits, `-`, `_` and `.`, the first and last
    no signs.
    """
    return re.sub(r"[^A-Za-z0-9._-]", "_", words)[:63].strip("-_.")


def tolerations(taints: Sequence[Taint]) -> list[dict[str, str]]:
    """Tolerations of a pod that belongs on nodes with `taints`."""
    return [taint.toleration for taint in taints]


def tolerations_of_all_pools(taints: Iterable[Taint] = ()) -> list[Mapping[str, str]]:
    """Tolerations of a daemon that must run on every GPU node, whatever pool it is in, and of `taints` beside ours."""
    tolerated = dict.fromkeys(
        [(GPU_KEY, "NoSchedule"), (POOL_KEY, "NoSchedule"), *((taint.key, taint.effect) for taint in taints)]
    )
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in tolerated]
