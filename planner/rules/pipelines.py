"""Kubeflow Pipelines: the runs that their steps start, where models are registered, and those of teams."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from planner.draft import Draft, rule, warning
from planner.findings import Observation
from planner.wording import one_of
from settings.workloads import TrainingRun


@rule(
    "R01",
    formula="each of training.pipelines.runs is in training.runs, a PyTorchJob with a dataset as it is: not staged, "
    "and no snapshot",
    source="components/kubeflow/pipeline_run.py: data and saves are put into the mounts of a PyTorchJob",
)
def pipeline_run(draft: Draft) -> Iterator[Observation]:
    """A step makes a job of a run that there is, and gives it data of its own."""
    training = draft.settings.training
    runs = {run.name: run for run in training.runs}
    frozen = {each.name for each in training.datasets if each.snapshot is not None}
    for index, name in enumerate(training.pipelines.runs if training.pipelines else ()):
        found = _wrong(runs.get(name), tuple(runs), frozen)
        if found is not None:
            wrong, remedy = found
            yield Observation(
                path=f"training.pipelines.runs[{index}]",
                sentence=f"a step of a pipeline cannot start {name}: {wrong}",
                remedy=remedy,
                subject=name,
            )


@rule(
    "Y05 PF04",
    formula="a pool has sandbox, if training.pipelines.sandbox",
    source='Kubernetes documentation, "Runtime Class": a pod goes where its class is, and waits where that is nowhere',
)
def pipeline_sandbox(draft: Draft) -> Iterator[Observation]:
    """Steps in a sandbox find a node that has one."""
    pipelines = draft.settings.training.pipelines
    if pipelines and pipelines.sandbox and not any(pool.sandboxed for pool in draft.pools.values()):
        yield Observation(
            path="training.pipelines.sandbox",
            sentence="pods of steps are to run in gVisor, and no pool has it",
            remedy="give sandbox to a pool of role system, or remove the key",
        )


@warning(
    "R11 Y02",
    formula="each of training.pipelines.teams has a page of serving.gateway.people.pages",
    source="stacks/people_network.py: the gateway alone asks a page, and no member of a team may forward a port there",
)
def team_pipelines_unseen(draft: Draft) -> Iterator[Observation]:
    """A team that has pipelines of its own has a way to them."""
    pipelines = draft.settings.training.pipelines
    people = draft.gateway.people if draft.gateway else None
    seen = {page.team for page in people.pages if page.page == "pipelines"} if people else set[str | None]()
    for index, team in enumerate(pipelines.teams if pipelines else ()):
        if team not in seen:
            yield Observation(
                path=f"training.pipelines.teams[{index}]",
                sentence=f"team {team} has Kubeflow Pipelines of its own and no page by which its people open them",
                remedy="add a page to serving.gateway.people.pages: {page: pipelines, team: " + team + ", groups: ...}",
                subject=team,
            )


def _wrong(run: TrainingRun | None, known: tuple[str, ...], frozen: AbstractSet[str]) -> tuple[str, str] | None:
    """What is wrong with a run that a step should start, and what to do. The datasets `frozen` are snapshots."""
    if run is None:
        return "it is no run of training.runs", f"name {one_of(known)}" if known else "add it there"
    if run.launcher == "mpi" or run.api == "v2":
        wrong = f"it is no PyTorchJob (launcher {run.launcher}, api {run.api})"
        return wrong, "name a run with launcher torchrun and api v1"
    if run.dataset is None:
        return "it reads no dataset, so what a pipeline prepared has no place in it", "give it a dataset"
    if run.dataset.staging != "none":
        wrong = f"its dataset is staged ({run.dataset.staging}), so its pods read a copy and not what is put in"
        return wrong, "remove staging from its dataset"
    if run.dataset.name in frozen:
        wrong = f"{run.dataset.name} is a snapshot, in which nothing is put"
        return wrong, "remove snapshot from the dataset, or name another run"
    return None


@rule(
    "R01",
    formula="training.tracking.kind is mlflow, where pipelines.runs is not empty",
    source="node/pipelines/registration.py: it speaks with MLflow's registry",
)
def pipeline_registry(draft: Draft) -> Iterator[Observation]:
    """The step that registers a model asks MLflow's registry, and is the gate before what is served."""
    training = draft.settings.training
    if training.pipelines is None or not training.pipelines.runs:
        return
    if training.tracking is None or training.tracking.kind != "mlflow":
        yield Observation(
            path="training.tracking",
            sentence="pipelines start runs, and there is no MLflow in which the model of one could be registered",
            remedy="set training.tracking to {kind: mlflow}, or remove training.pipelines.runs",
            subject="pipelines",
        )


@rule(
    "R06",
    formula="training.pipelines.registry is mlflow",
    source="node/pipelines/registration.py: the gate is MLflow's alias; SageMaker API reference, CreateModelPackage: a "
    "version has a ModelApprovalStatus and no alias, and each request is signed with keys of AWS",
)
def registry_elsewhere(draft: Draft) -> Iterator[Observation]:
    """Models are registered where the gate is: what is served follows an alias, which SageMaker's packages lack."""
    pipelines = draft.settings.training.pipelines
    if pipelines is not None and pipelines.registry == "sagemaker":
        yield Observation(
            path="training.pipelines.registry",
            sentence="SageMaker's model packages have no alias that only a better model gets, steps have no keys of "
            "AWS to sign with, and racks have no SageMaker: no step would register the model",
            remedy="set registry to mlflow, and let a job of your own copy the champion's address and tags",
            subject="sagemaker",
        )
