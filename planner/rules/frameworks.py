"""What frameworks and launchers (torchrun, MPI, Kubeflow Trainer) make of a plan, and runs below one switch."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from catalogue.image_types import DEEPSPEED, MEGATRON_BRIDGE, MEGATRON_CORE, find
from planner.draft import Draft, MetalDraft, rule, warning
from planner.fabric.near import machines, most_within
from planner.findings import Observation
from planner.rules.known import Seen, impossible, known_runs, runs
from planner.training.job import Sharding
from settings.workloads import TrainingRun

_DEGREES = ("tensor", "pipeline", "context", "expert")


class Can(NamedTuple):
    """What a framework can make of a plan: degrees above one, sharding, precision, methods, and torch.compile."""

    degrees: tuple[str, ...]
    sharding: tuple[Sharding, ...]
    precision: tuple[str, ...] = ("bf16",)
    methods: tuple[str, ...] = ("full",)
    elastic: bool = False
    compiled: bool = False


_ADAPTERS = ("full", "lora", "qlora")
CAN: Mapping[str, Can] = {
    "torchrun": Can((), ("none",), methods=_ADAPTERS, elastic=True, compiled=True),
    "fsdp2": Can(("tensor", "context"), ("fsdp", "zero3"), ("bf16", "fp8"), _ADAPTERS, elastic=True, compiled=True),
    "reference": Can((), ("fsdp", "zero3", "none"), elastic=True),
    "deepspeed": Can(("tensor",), ("none", "zero1", "zero2", "zero3"), methods=_ADAPTERS, compiled=True),
    "megatron": Can(_DEGREES, ("none", "zero1", "zero2", "zero3", "fsdp"), ("bf16", "fp8")),
    "nemo": Can(_DEGREES, ("none", "zero1", "zero2", "zero3", "fsdp"), ("bf16", "fp8")),
}
"""By framework. A framework that counts on a fixed number of ranks cannot be elastic. NeMo's adapters are part of the
recipe that its script chooses (Megatron-Bridge, scripts/training/run_recipe.py, --mode): no override makes them, and it
has none on 4-bit weights.
"""


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
            ways = [other for other, each in CAN.items() if name == "method" and value in each.methods]
            yield Observation(
                path=name,
                sentence=f"framework {seen.run.framework} has no {name} {value}",
                remedy=f"set it to {' or '.join(offered[name])}"
                + (f", or framework to {' or '.join(ways)}" if ways else ""),
                inputs={name: value},
            )
    if job.compiled and not can.compiled:
        yield Observation(
            path="compiled",
            sentence=f"framework {seen.run.framework} does not compile its layers with torch.compile",
            remedy="leave compiled out",
            inputs={"compiled": "true"},
        )


NEEDS: Mapping[str, str] = {"deepspeed": DEEPSPEED, "megatron": MEGATRON_CORE, "nemo": MEGATRON_BRIDGE}
"""What a framework imports that PyTorch does not bring."""


@rule(
    "N16 LF03",
    by_name=True,
    each=runs,
    formula="the image's row does not lack the package of the run's framework; Megatron's script is not below /data, "
    "where a checkout brings it",
    source="catalogue/images.py; CPython: ModuleNotFoundError",
)
def framework_not_in_image(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """What the framework imports is in the image; otherwise every pod ends at once."""
    images, package = draft.catalogue.images, NEEDS.get(run.framework)
    row = find(images, run.image)
    beside = run.framework == "megatron" and any(word.startswith("/data/") for word in run.script[:1])
    if package is None or row is None or package not in row.lacks or beside:
        return
    having = [each.name for each in images.values() if package in each.packages]
    other = f"take {' or '.join(having)}, or " if having else ""
    yield Observation(
        path="image",
        sentence=f"framework {run.framework} imports {package}, which {run.image} lacks",
        remedy=f"{other}build on it (RUN pip install {package}) and say so in catalogue.images: "
        f"{{name: YOUR-IMAGE, like: '{row.name}', packages: [{package}], lacks: []}}",
        subject=run.image,
        inputs={"package": package},
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


@rule(
    "N10",
    each=runs,
    formula="launcher mpi: framework script, fixed nodes, nothing that torchrun or its operator does",
    source="kubeflow/mpi-operator v0.8.0, pkg/apis/kubeflow/v2beta1/types.go",
)
def mpi_cannot(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """A run that MPI starts uses nothing that only torchrun or the training operator has, such as elastic sizes."""
    if run.launcher != "mpi":
        return
    staged = run.dataset is not None and run.dataset.staging != "none"
    lacking = {
        "framework": (run.framework != "script", f"{run.framework} is started by torchrun", "set it to script"),
        "elastic": (run.elastic is not None, "MPI's ranks are of a fixed number", "remove it"),
        "numaBinding": (run.numa_binding is not None, "it is an option of torchrun", "say it to mpirun's script"),
        "dataset.staging": (staged, "parts are told apart by the training operator's index", "set it to none"),
        "metricsPort": (run.metrics_port is not None, "rank 0 is in no pod that is known before", "remove it"),
        "followUps": (bool(run.follow_ups), "they wait for the end of a PyTorchJob", "remove them"),
    }
    yield from impossible("launcher mpi", lacking, "set launcher to torchrun")


@rule(
    "N10",
    formula="an experiment's run has launcher torchrun",
    source="Katib v0.19 katib-config trialResources: MPIJob.v1.kubeflow.org; mpi-operator serves v2beta1 alone",
)
def mpi_two_owners(draft: Draft) -> Iterable[Observation]:
    """Trials by MPI would need the training operator's MPIJob v1, whose definition has the name of mpi-operator's."""
    by_name = {run.name: run for _, run in runs(draft)}
    for index, experiment in enumerate(draft.settings.training.experiments):
        run = by_name.get(experiment.run)
        if run is not None and run.launcher == "mpi":
            yield Observation(
                path=f"training.experiments[{index}].run",
                sentence=f"{run.name} has launcher mpi, and Katib's trials know MPIJob v1: mpijobs.kubeflow.org would "
                "have two owners, the training operator and mpi-operator, and a cluster holds one of them",
                remedy="name a run with launcher torchrun",
                subject=experiment.name,
            )


@warning(
    "N10",
    each=runs,
    formula="no run has launcher mpi",
    source="this program's rehearsal, rehearsal/toolchain/families.py",
)
def mpi_not_rehearsed(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """A rehearsed cluster has no MPI operator: the run's job is taken by the real one alone."""
    if run.launcher == "mpi":
        yield Observation(
            path="launcher",
            sentence="is mpi, and a rehearsal has no MPI operator: its job is checked against the definition only",
            remedy="set it to torchrun to rehearse the run",
        )


@rule(
    "N01",
    by_name=True,
    each=runs,
    formula="no run has api v2",
    source="kubeflow/trainer v2.3: TrainJobs are run by JobSet; charts/kubeflow-trainer brings both",
)
def trainer_not_served(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """This program installs neither Trainer v2 nor JobSet, and its rehearsal serves neither."""
    if run.api == "v2":
        yield Observation(
            path="api",
            sentence="is v2, and neither this program nor a rehearsal brings what serves TrainJobs, Kubeflow "
            "Trainer v2 with JobSet: the objects are written and checked against the definitions only",
            remedy="set it to v1; or install the chart kubeflow-trainer 2.3 in the cluster, and waive "
            "trainer-not-served with the run as subject",
        )


@rule(
    "N09",
    each=runs,
    formula="api v2: launcher torchrun, fixed nodes, no shards, follow-ups with everyHours",
    source="kubeflow/trainer v2.2 release notes: ElasticPolicy is gone; JobSet's pods have no replica index label",
)
def trainer_cannot(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """A run as a TrainJob uses nothing that only the training operator's PyTorchJob can do."""
    if run.api != "v2":
        return
    sharded = run.dataset is not None and run.dataset.staging == "shard"
    waits = any(each.every_hours is None for each in run.follow_ups)
    lacking = {
        "launcher": (run.launcher == "mpi", "an MPIJob is mpi-operator's", "set it to torchrun"),
        "elastic": (run.elastic is not None, "a TrainJob has a fixed number of nodes", "remove it"),
        "dataset.staging": (sharded, "parts are told apart by the training operator's index", "set it to full"),
        "followUps": (waits, "they wait for the end of a PyTorchJob", "give them everyHours"),
    }
    yield from impossible("api v2", lacking, "set api to v1")


@rule(
    "M02",
    each=runs,
    formula="within: on-premises racks, api v2, and a switch with as many nodes of the pool",
    source="kubeflow/training-operator v1.9.3, pkg/controller.v1/common/job.go; kubeflow/trainer v2.3, "
    "VolcanoPodGroupPolicySource; volcano v1.14.1, pkg/scheduler/plugins/network-topology-aware",
)
def within_cannot(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """A run stays below a switch where its group can say so to Volcano, and the plan knows such a switch for it."""
    if run.within is None:
        return
    sentence, remedy = "", "remove it"
    pool = draft.pools.get(run.pool)
    if not isinstance(draft, MetalDraft):
        sentence = f"is {run.within}, and the plan of this platform knows no switches"
    elif run.api != "v2":
        sentence = "is said to groups of api v2; those of other runs cannot carry it, and only prefer near nodes"
        remedy = "set api to v2, or remove it"
    elif pool is not None and draft.above:
        here = [name for name in machines(draft.site, draft.pools[run.pool]) if name in draft.above]
        most = most_within(draft.above, here, run.within)
        if run.nodes > most:
            sentence = f"is {run.within}, the run has {run.nodes} nodes, and no {run.within} has more than {most}"
            remedy = f"lower nodes to {most}, choose a switch further up, or remove it"
    if sentence:
        yield Observation(path="within", sentence=sentence, remedy=remedy)
