"""Runs that others measured and printed (facts only, with their sources), as the planner's own types.

The calibration was fitted to `runs.csv` and to nothing of `unseen.csv`. Each server has eight GPUs and as many rails,
HDR with A100 and NDR with what came after, where the source names no others; of the 72 GPUs of a GB200 rack, each with
its rail, a run takes 64.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from catalogue.model_types import Model
from catalogue.models import MODELS
from catalogue.tables import SHIPPED
from catalogue.types import Gpu
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
                "compiled": row["compiled"] == "yes",
                "micro_batch": micro,
                "accumulation": batch // (micro * layout.data),
                "sequence": int(row["sequence"]),
            }
        )
        gpu = _gpu(row)
        domain = _DOMAIN_GPUS.get(row["gpu"], 8)
        rail = float(row.get("rail_gbit_per_s") or _RAIL_GBIT_PER_S[int(gpu.compute_capability)])
        yield Run(
            name=f"{row['source']} {row['model']} on {row['gpus']} {row['gpu']} in {row['precision']}",
            model=models[row["model"]],
            job=job,
            layout=layout,
            cluster=Cluster(gpu=gpu, domain_gpus=domain, network=Network(nics=domain, gbit_per_s=rail)),
            seconds=_seconds(row, tokens_per_step(job, layout)),
        )


def _gpu(row: dict[str, str]) -> Gpu:
    """The catalogue's GPU, or one with other memory, held at fewer watts: dynamic power is the cube of the clock."""
    gpu = SHIPPED.gpus[row["gpu"]]
    part = (float(row.get("watts") or gpu.tdp_w) / gpu.tdp_w) ** (1 / 3)
    return replace(
        gpu,
        bf16_tflops=gpu.bf16_tflops and gpu.bf16_tflops * part,
        fp8_tflops=gpu.fp8_tflops and gpu.fp8_tflops * part,
        memory_tb_per_s=float(row.get("memory_tb_per_s") or gpu.memory_tb_per_s),
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
    sizes: dict[str, object] = {key: int(value) for key, value in row.items() if value and key != "name"}
    if count := sizes.pop("experts", None):
        ffn, layers = sizes["ffn"], sizes["layers"]
        sizes["experts"] = {"count": count, "active": sizes.pop("active"), "ffn": ffn, "layers": layers}
    rest = {"context": 4096, "bytes_per_parameter": 2, "source": "published with the run"}
    return _MODEL.validate_python({"name": row["name"], **sizes, **rest})
