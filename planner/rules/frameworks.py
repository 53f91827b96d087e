"""What a training framework can make of a plan: degrees, sharding, precision, models, and when it saves."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planner.draft import Draft, rule
from planner.findings import Observation
from planner.rules.known import Seen, known_runs

_DEGREES = ("tensor", "pipeline", "context", "expert")


class Can(NamedTuple):
    """What a framework can make of a plan: degrees above one, sharding, precision and methods."""

    degrees: tuple[str, ...]
    sharding: tuple[str, ...]
    precision: tuple[str, ...] = ("bf16",)
    methods: tuple[str, ...] = ("full",)
    elastic: bool = False


_ADAPTERS = ("full", "lora", "qlora")
CAN: Mapping[str, Can] = {
    "torchrun": Can((), ("none",), methods=_ADAPTERS, elastic=True),
    "fsdp2": Can(("tensor", "context"), ("fsdp", "zero3"), ("bf16", "fp8"), _ADAPTERS, elastic=True),
    "reference": Can((), ("fsdp", "zero3", "none"), elastic=True),
    "deepspeed": Can(("tensor",), ("none", "zero1", "zero2", "zero3"), methods=_ADAPTERS),
    "megatron": Can(_DEGREES, ("none", "zero1", "zero2", "zero3", "fsdp"), ("bf16", "fp8")),
    "nemo": Can(_DEGREES, ("none", "zero1", "zero2", "zero3", "fsdp"), ("bf16", "fp8"), _ADAPTERS),
}
"""By framework. A framework that counts on a fixed number of ranks cannot be elastic."""


@rule(
    "N16 N18 O01",
    each=known_runs,
    formula="degrees, sharding, precision and method are among those of the framework",
    source="PyTorch (DDP, FSDP2), DeepSpeed configuration JSON, Megatron-LM arguments.py, node/trainer",
)
def framework_cannot(_: Draft, seen: Seen) -> Iterable[Observation]:
    """A framework is only told what it can do: a degree that it ignores would train another layout than was checked."""
    can = CAN.get(seen.run.framework)
    if can is None:
        return
    layout, job = seen.training.layout, seen.training.job
    for name in _DEGREES:
        if (degree := getattr(layout, name)) > 1 and name not in can.degrees:
            ways = [other for other, each in CAN.items() if name in each.degrees]
            yield Observation(
                path=f"parallelism.{name}",
                sentence=f"framework {seen.run.framework} has no {name} parallelism, and the run asks for {degree}",
                remedy=f"set it to 1, or framework to {' or '.join(ways)}",
                inputs={name: str(degree)},
            )
    asked = {"sharding": job.sharding, "precision": job.precision, "method": job.method}
    offered = {"sharding": can.sharding, "precision": can.precision, "method": can.methods}
    for name, value in asked.items():
        if value not in offered[name]:
            yield Observation(
                path=name,
                sentence=f"framework {seen.run.framework} has no {name} {value}",
                remedy=f"set it to {' or '.join(offered[name])}",
                inputs={name: value},
            )


@rule(
    "O01",
    each=known_runs,
    formula="no experts, no latent attention, heads x head size = hidden size",
    source="node/trainer/model.py",
)
def reference_is_dense(_: Draft, seen: Seen) -> Iterable[Observation]:
    """The reference trainer builds a dense decoder from the model's sizes."""
    if seen.run.framework != "reference":
        return
    what = "experts" if seen.model.experts else "latent attention" if seen.model.latent else None
    if what:
        yield Observation(
            path="model",
            sentence=f"{seen.model.name} has {what}, which the reference trainer does not build",
            remedy="set framework to megatron, with a script of yours, or take a dense model",
        )


@rule(
    "T01",
    each=known_runs,
    formula="steps between saves = everyMinutes / forecast time of a step",
    source="Megatron-LM arguments.py: --save-interval counts iterations",
)
def save_steps_unknown(_: Draft, seen: Seen) -> Iterable[Observation]:
    """A framework that saves by steps needs the time of one; without it nothing would be saved."""
    launch = seen.plan.launch
    if seen.run.framework in ("megatron", "nemo") and seen.run.checkpoint and launch.save_steps is None:
        yield Observation(
            path="checkpoint.everyMinutes",
            sentence=f"framework {seen.run.framework} saves by steps, and how long one takes is not known",
            remedy="make the degrees cover the run's GPUs, so that there is a forecast, or set framework to script",
        )
