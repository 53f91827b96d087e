"""A run of the plan as its component takes it: what torchrun starts, and the files and variables beside it."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.training import launch as launching
from components.training.copier import FILES, copier_files
from components.training.launch import Launch
from components.training.recipe import Places, Recipe
from components.training.saving import CHECKPOINTS, DATA, LOCAL
from components.training.staging import SCRIPTS, staging_files
from components.training.trainer import TRAINER, trainer_files
from planner.training.job import ends_as_layers, parts_of
from planner.workload_types import RunPlan

TOPOLOGY = "/opt/gpucluster/topology"
"""Where pods find what a node's buses are like, if somebody wrote it down (NCCL user guide, NCCL_TOPO_FILE)."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """`files` by directory and name, for every pod; `environment` beside what the platform and the run's saves need."""

    launch: Launch
    environment: Mapping[str, str]
    files: Mapping[str, Mapping[str, str]]


def started(run: RunPlan) -> Started:
    """How the run's processes start. The stack file's own variables come over all others."""
    found = recipe(run)
    numa = run.launch.numa_binding
    launch = launching.launch(found, numa) if found else launching.script_as_it_is(run.script, numa)
    files = {launching.DIRECTORY: launch.files} if launch.files else {}
    if run.launch.framework == "reference":
        files[TRAINER] = trainer_files()
    if run.saving and run.saving.sidecar:
        files[FILES] = copier_files()
    if run.staging != "none":
        files[SCRIPTS] = staging_files()
    plugin = {"NCCL_NET_PLUGIN": run.net_plugin} if run.net_plugin else {}
    if run.topology is not None:
        files[TOPOLOGY] = {"node.xml": run.topology}
        plugin["NCCL_TOPO_FILE"] = f"{TOPOLOGY}/node.xml"
    return Started(
        launch=launch, environment={**plugin, **launch.environment, **dict(run.launch.variables)}, files=files
    )


def recipe(run: RunPlan) -> Recipe | None:
    """The plan's numbers of a run whose framework is told them; None for a script of the user's."""
    model, training, launch = run.launch.architecture, run.training, run.launch
    if model is None or training is None:
        return None
    job, layout = training.job, training.layout
    profile = (launch.profile_from, launch.profile_to or launch.profile_from) if launch.profile_from else None
    return Recipe(
        framework=launch.framework,
        script=run.script,
        model=model,
        tensor=layout.tensor,
        pipeline=layout.pipeline,
        context=layout.context,
        expert=layout.expert,
        data=layout.data,
        micro_batch=job.micro_batch,
        accumulation=job.accumulation,
        global_batch=training.global_batch,
        sequence=job.sequence,
        method=job.method,
        precision=job.precision,
        gradients=job.gradients,
        sharding=job.sharding,
        recompute=job.recompute,
        elastic=launch.elastic,
        steps=launch.steps,
        places=_places(run),
        directory=DATA if run.dataset else None,
        metrics_port=run.metrics_port,
        profile=profile,
        loader_workers=launch.loader_workers,
        virtual_stages=layout.virtual_stages,
        expert_tensor=1 if layout.spans_tensor else None,
        ends_as_layers=ends_as_layers(model.layers, parts_of(layout)),
    )


def _places(run: RunPlan) -> Places | None:
    saving = run.saving
    if saving is None:
        return None
    return Places(
        shared=CHECKPOINTS,
        local=LOCAL if saving.local else None,
        every_seconds=saving.every_s,
        shared_seconds=saving.file_system_s,
        keep=saving.keep,
        every_steps=run.launch.save_steps,
        shared_steps=run.launch.file_system_steps,
    )
