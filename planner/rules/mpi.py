"""Runs started by MPI: unsupported combinations, and where they cannot be rehearsed."""

from collections.abc import Iterable

from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.rules.known import impossible, runs
from settings.workloads import TrainingRun


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
