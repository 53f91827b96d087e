"""Runs by Kubeflow Trainer v2: unsupported options, and whether its controller is installed."""

from collections.abc import Iterable

from planner.draft import Draft, rule
from planner.findings import Observation
from planner.rules.known import impossible, runs
from settings.workloads import TrainingRun


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
