"""What frameworks make of pipeline stages: as many layers in each, and parts that take turns."""

from collections.abc import Iterable
from dataclasses import replace

from planner.draft import Draft, rule
from planner.findings import Observation
from planner.rules.known import Seen, known_runs
from planner.training.job import covers, divides_layers, layout_on, parts_of
from planner.training.memory import training_memory
from planner.wording import counted, one_of

_DEALS = ("megatron", "nemo")
"""Frameworks that deal the layers out themselves."""


@rule(
    "C06 N18",
    by_name=True,
    each=known_runs,
    formula="layers mod (pipeline x virtual stages) = 0, or (layers + 2) mod of it, of frameworks megatron and nemo",
    source="Megatron-LM, megatron/training/arguments.py (validate_args) and "
    "megatron/core/transformer/transformer_block.py (get_num_layers_to_build)",
)
def stages_divide_layers(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Megatron gives every stage as many layers, or counts embedding and output as a layer each to do so."""
    layout, layers = seen.training.layout, seen.model.layers
    dealt = seen.run.framework in _DEALS and 1 < layout.pipeline <= layers
    if not dealt or divides_layers(layers, parts_of(layout)):
        return
    turns = divides_layers(layers, layout.pipeline)
    parts = counted(layout.pipeline, "stage")
    if layout.virtual_stages > 1:
        parts += f" of {layout.virtual_stages} parts each"
    own = ", or waive stages-divide-layers with the run as subject if its recipe has a layout of its own"
    yield Observation(
        path="parallelism.virtualStages" if turns else "parallelism.pipeline",
        sentence=f"{layers} layers of {seen.model.name} do not divide among {parts}, nor do {layers + 2} with "
        f"embedding and output as one each, and framework {seen.run.framework} gives every part as many",
        remedy=(_fewer_parts(seen) if turns else _other_stages(seen)) + (own if seen.run.framework == "nemo" else ""),
        inputs={"layers": f"{layers} layers", "parts": f"{parts_of(layout)} parts"},
    )


@rule(
    "C06",
    each=known_runs,
    formula="virtual stages = 1 where pipeline = 1",
    source="Megatron-LM, megatron/training/arguments.py (validate_args): interleaving needs a pipeline above 1",
)
def one_stage_interleaves(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Parts of layers take turns between pipeline stages, of which there is more than one."""
    layout = seen.training.layout
    if layout.virtual_stages > 1 and layout.pipeline == 1:
        yield Observation(
            path="parallelism.virtualStages",
            sentence=f"{layout.virtual_stages} parts of a stage take turns with those of other stages, and pipeline 1 "
            "is one stage",
            remedy="set it to 1, or raise pipeline",
            inputs={"virtual stages": str(layout.virtual_stages), "pipeline": "1 stage"},
        )


def _fewer_parts(seen: Seen) -> str:
    """The nearest numbers of parts that the stages there are can have; 1 is always among the smaller ones."""
    layout, layers = seen.training.layout, seen.model.layers
    fitting = [parts for parts in range(1, layers + 1) if divides_layers(layers, layout.pipeline * parts)]
    return f"take {one_of(_near(layout.virtual_stages, fitting))}"


def _other_stages(seen: Seen) -> str:
    """The nearest numbers of stages: those that the run's GPUs divide by and whose states fit, where there are any."""
    layout, layers, gpus = seen.training.layout, seen.model.layers, seen.plan.gpus
    least = 2 if layout.virtual_stages > 1 else 1
    dividing = [each for each in range(least, layers + 1) if divides_layers(layers, each * layout.virtual_stages)]
    if not dividing:
        return "set it to 1 and remove virtualStages"

    def works(stages: int) -> bool:
        other = layout_on(gpus, replace(layout, pipeline=stages), seen.run.parallelism.data)
        return covers(other, gpus) and training_memory(seen.training.job, seen.model, other, seen.gpu.driver_gb).fits

    working = [each for each in dividing if works(each)]
    rest = "" if working else ", and other degrees for the rest"
    return f"take {one_of(_near(layout.pipeline, working or dividing))}{rest}"


def _near(number: int, fitting: list[int]) -> list[int]:
    """The largest below, and the smallest above."""
    below, above = [each for each in fitting if each < number], [each for each in fitting if each > number]
    return below[-1:] + above[:1]
