"""Runs that others measured and printed (facts only, with their sources), as the planner's own types.

The calibration was fitted to `runs.csv` and to nothing of `unseen.csv`. Each server has eight GPUs and as many rails,
HDR with A100 and NDR with what came after; of the 72 GPUs of a GB200 rack, each with its rail, a run takes 64.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from catalogue.model_types import Model
from catalogue.models import MODELS
from catalogue.tables import SHIPPED
from planner.communication.group import Cluster, Network
from planner.training.job import Job, Layout, tokens_per_step

HERE = Path(__file__).parent
_JOB, _MODEL = TypeAdapter(Job), TypeAdapter(Model)
_RAIL_GBIT_PER_S = {10: 400, 9: 400, 8: 200}
_DOMAIN_GPUS = {"GB200": 64}


@dataclass(frozen=True, kw_only=True)
class Run:
    """A published run: its settings, and the seconds of a step that were measured."""

    name: str
    model: Model
    job: Job
    layout: Layout
    cluster: Cluster
    seconds: float


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a file beside this one."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def published(file: str = "runs") -> Iterator[Run]:
    """All runs of a file."""
    models = {**MODELS, **{row["name"]: _model(row) for row in rows("models")}}
    for row in rows(file):
        micro, batch = int(row["micro_batch"]), int(row["global_batch"])
        names = ("tensor", "pipeline", "context", "expert", "data", "virtual_stages")
        layout = Layout(**{each: int(row[each]) for each in names})
        words = {each: row[each] for each in ("precision", "sharding", "recompute", "software")}
        job = _JOB.validate_python(
            {
                **words,
                "micro_batch": micro,
                "accumulation": batch // (micro * layout.data),
                "sequence": int(row["sequence"]),
            }
        )
        gpu = SHIPPED.gpus[row["gpu"]]
        domain = _DOMAIN_GPUS.get(row["gpu"], 8)
        network = Network(nics=domain, gbit_per_s=_RAIL_GBIT_PER_S[int(gpu.compute_capability)])
        yield Run(
            name=f"{row['source']} {row['model']} on {row['gpus']} {row['gpu']} in {row['precision']}",
            model=models[row["model"]],
            job=job,
            layout=layout,
            cluster=Cluster(gpu=gpu, domain_gpus=domain, network=network),
            seconds=_seconds(row, tokens_per_step(job, layout)),
        )


def _seconds(row: dict[str, str], tokens: int) -> float:
    """A step in seconds, from what the source printed."""
    value, gpus = float(row["published"]), int(row["gpus"])
    match row["unit"]:
        case "s/step":
            return value
        case "tokens/s/GPU":
            return tokens / (value * gpus)
        case _:
            return tokens * float(row["flops_per_token_of_the_source"]) / (value * 1e12 * gpus)


def _model(row: dict[str, str]) -> Model:
    sizes = {key: int(value) for key, value in row.items() if key != "name"}
    return _MODEL.validate_python(
        {"name": row["name"], **sizes, "context": 4096, "bytes_per_parameter": 2, "source": "published with the run"}
    )
