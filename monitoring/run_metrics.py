"""Metrics that a training script exports: names, types and meanings.

Nothing beside the script knows its steps, its tokens and its loss. Where the stack file gives a run a `metricsPort`,
the process of rank 0 answers `/metrics` there, which the environment tells it as METRICS_PORT; the others tell nothing.
What follows from the plan is left to queries: the MFU is the tokens per second, held against those that are planned.
"""

from dataclasses import dataclass
from typing import Literal

PORT_NAME = "metrics"
"""Name of the container's port: a pod without a port of that name is not scraped."""

PORT_VARIABLE = "METRICS_PORT"
PATH = "/metrics"
INTERVAL = "15s"
RUN_LABEL = "run"
"""Label of every series that names the run, put there when it is scraped."""


@dataclass(frozen=True, kw_only=True)
class RunMetric:
    """A metric of a run; `meaning` says what it counts, with its unit."""

    name: str
    type: Literal["counter", "gauge"]
    meaning: str


STEP = RunMetric(
    name="training_step",
    type="gauge",
    meaning="the optimizer's step that the run is at; it goes back to the checkpoint's when the gang begins again",
)
STEP_SECONDS = RunMetric(name="training_step_seconds", type="gauge", meaning="seconds that the last step took")
TOKENS = RunMetric(
    name="training_tokens_total",
    type="counter",
    meaning="tokens trained by this process, by all ranks together; work that is done again counts again",
)
LOSS = RunMetric(name="training_loss", type="gauge", meaning="loss of the last step")
CHECKPOINT_TIME = RunMetric(
    name="training_checkpoint_timestamp_seconds",
    type="gauge",
    meaning="Unix time in seconds at which the newest whole save was finished",
)
CHECKPOINT_PAUSE = RunMetric(
    name="training_checkpoint_pause_seconds",
    type="gauge",
    meaning="seconds that training stood still for the last save",
)

RUN_METRICS = (STEP, STEP_SECONDS, TOKENS, LOSS, CHECKPOINT_TIME, CHECKPOINT_PAUSE)
