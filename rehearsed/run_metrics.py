"""What a training script tells Prometheus of itself, where its environment names a port: rank 0 only.

Names and meanings are those that docs/dashboards.md asks of a script. How fast it is follows from its GPUs, all of the
gang's alike, and from the billions of parameters that its arguments name (llama-3-70b.yaml): 6 operations a parameter
and token (Chowdhery et al. 2022, appendix B) at a utilisation that is assumed. Seconds are those of the clock, not of
the kubelet's faster time, as Prometheus reads it by the clock.
"""

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from rehearsal.cluster.pages import Handler, texts
from rehearsal.devices import gpus
from rehearsal.devices.boards import BOARDS
from rehearsal.devices.gpus import GPU
from rehearsal.kubelet.exposition import Family, family, text
from rehearsal.kubelet.program import Launch
from rehearsed.telling import STEP_SECONDS, loss

PORT = "METRICS_PORT"
INDEX = "training.kubeflow.org/replica-index"
UTILISATION, SAVE_SECONDS = 0.45, 30.0
"""Of the GPUs' peak, what training reaches; what a save stops. Assumed."""

OPERATIONS = 6
_BILLIONS = r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])"


@dataclass(frozen=True)
class Pace:
    """How fast a run is: tokens a second, and how often it saves, None where it does not."""

    tokens_per_s: float
    save_every_s: float | None


def ports(launch: Launch) -> dict[int, Handler]:
    """Where the process answers: nowhere without a port, on another rank, or where its speed cannot be known.

    Workers without a Master have no RANK (training-operator v1, pkg/controller.v1/pytorch/envvar.go); torchrun ranks
    them by address, for which their index stands here. All of them answer, and the first one says something.
    """
    port = launch.env.get(PORT)
    if port is None or launch.env.get("RANK", "0") != "0" or (found := _pace(launch)) is None:
        return {}
    labels = launch.pod["metadata"].get("labels") or {}
    if "RANK" not in launch.env and labels.get(INDEX, "0") != "0":
        return {int(port): texts({"/metrics": lambda: ""})}
    began, monotonic = time.time(), time.monotonic()
    return {int(port): texts({"/metrics": lambda: text(told(found, began, time.monotonic() - monotonic))})}


def _pace(launch: Launch) -> Pace | None:
    host = launch.world.hosts.get(launch.node)
    gpu = gpus.find(host.machine) if host else None
    named = re.findall(_BILLIONS, " ".join(launch.argv).lower())
    if gpu is None or not named:
        return None
    every = launch.env.get("CHECKPOINT_EVERY_SECONDS")
    return Pace(speed(float(named[-1]) * 1e9, gpu.product, _gpus(launch)), float(every) if every else None)


def _gpus(launch: Launch) -> int:
    """The gang's: the operator says how many nodes it has."""
    nodes = launch.env.get("PET_NNODES", "1").rpartition(":")[2]
    return launch.limit(GPU) * (int(nodes) if nodes.isdigit() else 1)


def speed(parameters: float, product: str, count: int) -> float:
    """Tokens a second of a model of so many parameters on so many GPUs of a product. Pure."""
    return UTILISATION * count * BOARDS[product].tflops * 1e12 / (OPERATIONS * parameters)


def told(pace: Pace, began: float, seconds: float) -> list[Family]:
    """The page's families, `seconds` after the process began at the Unix time `began`. Pure."""
    step = math.floor(seconds / STEP_SECONDS)
    none: Mapping[str, str] = {}
    found = [
        family("training_step", "gauge", "step of the optimizer", (none, step)),
        family("training_step_seconds", "gauge", "seconds of the last step", (none, STEP_SECONDS)),
        family("training_tokens_total", "counter", "tokens trained", (none, pace.tokens_per_s * STEP_SECONDS * step)),
        family("training_loss", "gauge", "loss of the last step", (none, loss(step))),
    ]
    if pace.save_every_s is not None:
        saved = began + seconds // pace.save_every_s * pace.save_every_s
        found += [
            family("training_checkpoint_timestamp_seconds", "gauge", "when the newest save was whole", (none, saved)),
            family("training_checkpoint_pause_seconds", "gauge", "seconds that it stopped", (none, SAVE_SECONDS)),
        ]
    return found
