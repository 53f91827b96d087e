"""Layouts of training runs that name a model: degrees of parallelism against GPUs, nodes and architecture."""

from collections.abc import Iterable
from dataclasses import replace

from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.rules.known import Seen, known_runs
from planner.step import pipeline_bubble
from planner.training.job import (
    ENDS,
    Layout,
    covers,
    expert_degrees,
    parts_of,
    replicates,
    sequence_divides,
    tensor_degrees,
    tensor_reach,
    within_nvlink,
)
from planner.training.memory import training_memory
from planner.wording import counted, one_of

_MEGATRON = "Megatron Core user guide, parallelism strategies"
_MOST_BUBBLE = 0.5


@rule(
    "C05 C08 C09",
    each=known_runs,
    formula="nodes x GPUs per node = tensor x pipeline x context x data",
    source=_MEGATRON,
)
def layout_covers_gpus(_: Draft, seen: Seen) -> Iterable[Observation]:
    """The degrees of parallelism multiply up to the GPUs of the run."""
    layout, gpus = seen.training.layout, seen.plan.gpus
    if covers(layout, gpus):
        return
    per_node, replica = seen.pool.gpus_per_node, layout.replica
    said = seen.run.parallelism.data

    def fits(data: int) -> bool:
        return training_memory(seen.training.job, seen.model, replace(layout, data=data), seen.gpu.driver_gb).fits

    sizes = ((nodes, nodes * per_node) for nodes in range(1 if said else seen.run.nodes, 4097))
    nodes = next((nodes for nodes, have in sizes if (have == layout.world if said else have % replica == 0)), None)
    fixes = [f"set data to {gpus // replica}"] if gpus % replica == 0 and fits(gpus // replica) else []
    if nodes and nodes != seen.run.nodes and fits(nodes * per_node // replica):
        larger = "" if nodes <= seen.pool.count else " and the pool's count"
        fixes.append(f"set nodes{larger} to {nodes}")
    fixes.append(f"change the degrees, so that their product is {gpus}")
    yield Observation(
        path="parallelism" + (".data" if said else ""),
        sentence=f"tensor {layout.tensor} x pipeline {layout.pipeline} x context {layout.context} x data "
        f"{layout.data} are {layout.world} GPUs, and {seen.run.nodes} nodes of {per_node} have {gpus}",
        remedy=" or ".join(fixes),
        inputs={**_degrees(layout), "nodes": f"{seen.run.nodes} nodes", "GPUs per node": f"{per_node} GPUs"},
    )


@rule(
    "C04 C13",
    each=known_runs,
    formula="tensor <= GPUs joined by NVLink, and divides them",
    source="Shoeybi et al. 2019 (Megatron-LM); Narayanan et al. 2021, section 3.2",
)
def tensor_leaves_node(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Tensor parallelism stays where NVLink reaches; over the fabric each layer would wait for its all-reduces."""
    size, per_node = seen.training.layout.tensor, seen.pool.gpus_per_node
    if within_nvlink(size, per_node, seen.gpu.nvlink_gpus):
        return
    reach = tensor_reach(per_node, seen.gpu.nvlink_gpus)
    degrees = tensor_degrees(seen.model, reach, replicated=replicates(seen.training.job.software))
    fitting = [size_ for size_ in degrees if within_nvlink(size_, per_node, seen.gpu.nvlink_gpus)]
    yield Observation(
        path="parallelism.tensor",
        sentence=f"a tensor group of {counted(size, 'GPU')} {'is more than' if size > reach else 'does not divide'} "
        f"the {reach} that NVLink joins in a {seen.pool.hardware}",
        remedy=f"take {one_of(fitting)}, and pipeline or data for the rest",
        inputs={"tensor": f"{size} GPUs", "joined": f"{reach} GPUs"},
    )


@rule(
    "C04",
    each=known_runs,
    formula="heads mod tensor = 0; KV heads mod tensor = 0, of megatron or tensor mod KV heads = 0",
    source=_MEGATRON,
)
def tensor_divides_heads(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Every GPU of a tensor parallel group gets whole heads and whole KV heads."""
    size, model = seen.training.layout.tensor, seen.model
    copies = replicates(seen.training.job.software)
    if size not in tensor_degrees(model, size, replicated=copies):
        reach = tensor_reach(seen.pool.gpus_per_node, seen.gpu.nvlink_gpus)
        fitting = tensor_degrees(model, reach, replicated=copies)
        yield Observation(
            path="parallelism.tensor",
            sentence=f"{size} does not divide {model.heads} heads and {model.kv_heads} KV heads of {model.name}",
            remedy=f"take {one_of(fitting)}",
            inputs={"tensor": str(size), "heads": str(model.heads), "KV heads": str(model.kv_heads)},
        )


@rule("C06", each=known_runs, formula="pipeline x virtual stages <= layers + 2", source=_MEGATRON)
def pipeline_has_layers(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Every pipeline stage has a layer at least; of virtual ones two may have the embedding or the output instead."""
    if seen.training.layout.pipeline > seen.model.layers:
        yield Observation(
            path="parallelism.pipeline",
            sentence=f"{seen.training.layout.pipeline} stages are more than the {seen.model.layers} layers of "
            f"{seen.model.name}",
            remedy=f"set it to at most {seen.model.layers}",
            inputs={"pipeline": f"{seen.training.layout.pipeline} stages", "layers": f"{seen.model.layers} layers"},
        )
    elif (parts := parts_of(seen.training.layout)) > seen.model.layers + ENDS:
        most = (seen.model.layers + ENDS) // seen.training.layout.pipeline
        yield Observation(
            path="parallelism.virtualStages",
            sentence=f"{seen.training.layout.pipeline} stages of {seen.training.layout.virtual_stages} parts each "
            f"are more than the {seen.model.layers} layers of {seen.model.name} with its embedding and output",
            remedy=f"set it to at most {most}" if seen.training.layout.pipeline > 1 else "remove the key",
            inputs={"parts": f"{parts} parts", "layers": f"{seen.model.layers} layers"},
        )


@rule(
    "C06",
    each=known_runs,
    formula="accumulation mod pipeline = 0, of megatron with virtual stages",
    source="Megatron Core, core/pipeline_parallel/schedules.py: forward_backward_pipelining_with_interleaving",
)
def interleaving_divides(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Megatron gives micro-batches to virtual stages in groups of as many as there are stages, and takes no others."""
    layout, passes = seen.training.layout, seen.run.accumulation
    if layout.virtual_stages > 1 and passes % layout.pipeline and seen.training.job.software == "megatron":
        yield Observation(
            path="accumulation",
            sentence=f"{_passes(passes)} a step cannot be divided among {layout.pipeline} stages of "
            f"{layout.virtual_stages} parts each",
            remedy=f"set accumulation to {passes // layout.pipeline * layout.pipeline or layout.pipeline}, or remove "
            "virtualStages",
            inputs={"accumulation": _passes(passes), "pipeline": f"{layout.pipeline} stages"},
        )


@warning(
    "C06",
    each=known_runs,
    formula="(pipeline - 1) / (virtual stages x accumulation + pipeline - 1) <= 50 %",
    source="Narayanan et al. 2021, section 2.2",
)
def pipeline_idles(_: Draft, seen: Seen) -> Iterable[Observation]:
    """With few micro-batches in a step, pipeline stages wait for each other most of the time."""
    layout, passes = seen.training.layout, seen.run.accumulation
    pipeline, bubble = layout.pipeline, pipeline_bubble(layout, passes)
    if bubble > _MOST_BUBBLE:
        group = pipeline if layout.virtual_stages > 1 else 1
        yield Observation(
            path="accumulation",
            sentence=f"{pipeline} stages that share {_passes(passes)} a step idle {bubble:.0%} of the time",
            remedy=f"set accumulation to {-(-4 * (pipeline - 1) // (layout.virtual_stages * group)) * group} for a "
            "fifth, or use fewer stages",
            inputs={"pipeline": f"{pipeline} stages", "accumulation": _passes(passes)},
        )


@rule("C08", each=known_runs, formula="experts mod expert = (data x context x tensor) mod expert = 0", source=_MEGATRON)
def experts_divide(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Expert parallelism divides the experts, and the ranks it is made of."""
    layout, fitting = seen.training.layout, expert_degrees(seen.model, seen.training.layout)
    if layout.expert not in fitting:
        count = seen.model.experts.count if seen.model.experts else 0
        has = f"{count} experts" if count else "no experts"
        yield Observation(
            path="parallelism.expert",
            sentence=f"{layout.expert} does not divide both the {layout.shards * layout.tensor} ranks of a "
            f"pipeline stage and what {seen.model.name} has, {has}",
            remedy=f"take {one_of(fitting)}" if count else "remove the key",
            inputs={
                "expert": str(layout.expert),
                "experts": str(count),
                "ranks": str(layout.shards * layout.tensor),
            },
        )


@rule("C08", each=known_runs, formula="sequence mod (2 x context) = 0", source=_MEGATRON)
def context_divides(_: Draft, seen: Seen) -> Iterable[Observation]:
    """Context parallelism cuts a sequence into equal parts, two for each rank."""
    layout, sequence = seen.training.layout, seen.run.sequence_length
    if not sequence_divides(layout, sequence):
        step = 2 * layout.context
        yield Observation(
            path="sequenceLength",
            sentence=f"{sequence} tokens cannot be cut into {step} equal parts, two for each of {layout.context} "
            "context ranks",
            remedy=f"set it to {sequence // step * step or step} or {(sequence // step + 1) * step}",
            inputs={"sequence": f"{sequence} tokens", "context": f"{layout.context} ranks"},
        )


def _passes(count: int) -> str:
    return "1 micro-batch" if count == 1 else f"{count} micro-batches"


def _degrees(layout: Layout) -> dict[str, str]:
    return {name: str(getattr(layout, name)) for name in ("tensor", "pipeline", "context", "expert", "data")}
