"""Rules about training jobs: what their operator asks of them, and what they ask of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import above, namespace_of, of_training_operator, roles, spec_of, whole
from policy.graph import Graph, Resource
from policy.owners import IN_CHARTS, chart_of, program_of
from policy.pods import Pod, pods
from policy.rule import Finding, rule
from policy.words import flag, flags

CONTAINER = {
    "PyTorchJob": "pytorch",
    "TFJob": "tensorflow",
    "XGBoostJob": "xgboost",
    "PaddleJob": "paddle",
    "JAXJob": "jax",
    "MXJob": "mxnet",
    "MPIJob": "mpi",
}
"""The container by which the training operator knows the trainer."""

ROLES = {
    "PyTorchJob": ("Master", "Worker"),
    "MPIJob": ("Launcher", "Worker"),
    "XGBoostJob": ("Master", "Worker"),
    "PaddleJob": ("Master", "Worker"),
    "JAXJob": ("Worker",),
    "TFJob": ("Chief", "Master", "PS", "Worker", "Evaluator"),
}
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def jobs(graph: Graph) -> list[Resource]:
    """The jobs that the training operator (v1) or the MPI operator runs."""
    return [
        each for each in graph.resources.values() if each.token.startswith("kubernetes:kubeflow.org/") and roles(each)
    ]


def _operators(graph: Graph, image: str) -> Iterator[tuple[Pod, Mapping[str, Any]]]:
    """(pod, container) of an operator in the graph, by the last part of its image's name."""
    for pod in pods(graph):
        for container in pod.spec.get("containers") or []:
            if program_of(container) == image:
                yield pod, container


def _named_schedulers(each: Resource) -> set[str]:
    """The schedulers that a job's pods name."""
    specs = [((role or {}).get("template") or {}).get("spec") or {} for role in roles(each).values()]
    return {spec["schedulerName"] for spec in specs if spec.get("schedulerName")}


def _schedulers(each: Resource) -> set[str]:
    """The schedulers that a job's pods ask for, the default one left out."""
    return _named_schedulers(each) - {"default-scheduler"}


def scheduling_policy(each: Resource) -> Mapping[str, Any]:
    """What a job says about its gang."""
    policy: Mapping[str, Any] = (spec_of(each).get("runPolicy") or {}).get("schedulingPolicy") or {}
    return policy


@rule(
    source="training-operator v1.9: cmd/training-operator.v1/main.go (--gang-scheduler-name, empty by default) and "
    "pkg/controller.v1/control/podgroup_control.go; mpi-operator v0.8 (--gang-scheduling)",
    remedy="start the training operator with --gang-scheduler-name=volcano, the MPI operator with "
    "--gang-scheduling=volcano",
)
def operators_form_gangs(graph: Graph) -> Iterator[Finding]:
    """An operator whose jobs need gangs is started with its gang flag, for the scheduler that they name (KJ10)."""
    for image, name, ours in (
        ("training-operator", "gang-scheduler-name", of_training_operator),
        ("mpi-operator", "gang-scheduling", lambda each: "v2beta1:MPIJob" in each.token),
    ):
        asking = [each for each in jobs(graph) if ours(each) and (_schedulers(each) or scheduling_policy(each))]
        for pod, container in _operators(graph, image):
            given = flag(container, name)
            if asking and not given:
                yield (
                    pod.owner,
                    f"runs without --{name} while {asking[0].name} asks for a gang: each of its pods gets a PodGroup "
                    "of its own and starts alone",
                )
            for each in asking:
                if given and "default-scheduler" in _named_schedulers(each):
                    yield each.name, f"leaves pods to default-scheduler while its operator forms gangs for {given}"
                if given and (others := _schedulers(each) - {given}):
                    yield (
                        each.name,
                        f"asks for the scheduler {', '.join(others)} while its operator forms gangs for {given}",
                    )
            if flag(container, "enable-gang-scheduling") is not None:
                yield (
                    pod.owner,
                    f"has --enable-gang-scheduling, which the operator no longer knows; write --{name}=volcano",
                )


@rule(
    source="training-operator v1.9: cmd/training-operator.v1/main.go (--enable-scheme, --namespace)",
    remedy="give the operator --enable-scheme for each kind of job, or none; leave --namespace out",
)
def jobs_have_their_operator(graph: Graph) -> Iterator[Finding]:
    """Each job is of a kind, and in a namespace, that its operator handles (KJ12)."""
    for _, container in _operators(graph, "training-operator"):
        kinds = {value.lower() for name, value in flags(container) if name == "enable-scheme"}
        only = flag(container, "namespace")
        for each in jobs(graph):
            if of_training_operator(each) and kinds and each.kind.lower() not in kinds:
                yield (
                    each.name,
                    f"is a {each.kind}, which its operator does not run: it runs {', '.join(sorted(kinds))} alone",
                )
            if of_training_operator(each) and only and namespace_of(each) != only:
                yield each.name, f"is in {namespace_of(each)} while its operator watches only --namespace={only}"


@rule(
    source="training-operator v1.9: pkg/webhooks/utils/utils.go and pkg/webhooks/pytorch/pytorchjob_webhook.go; "
    "Trainer 2.3 ClusterTrainingRuntime (container `node`)",
    remedy="call the container as its operator does: pytorch in a PyTorchJob, tensorflow in a TFJob, xgboost, paddle, "
    "jax, mpi (v1), node in a Trainer's runtime",
)
def trainers_named(graph: Graph) -> Iterator[Finding]:
    """The training container has the name that its operator expects (KJ01)."""
    for pod in pods(graph):
        wanted = CONTAINER.get(pod.kind) if of_training_operator(pod.maker) else None
        if pod.maker.token.startswith("kubernetes:trainer.kubeflow.org/") and any(
            (each.get("metadata") or {}).get("labels", {}).get(STEP) == "trainer" for each in above(pod)
        ):
            wanted = "node"
        names = [str(each.get("name")) for each in pod.spec.get("containers") or []]
        if wanted and wanted not in names:
            yield pod.owner, f"has the containers {', '.join(names)} at {pod.path}; its operator looks for {wanted}"


@rule(
    source="training-operator v1.9: pkg/webhooks/pytorch/pytorchjob_webhook.go (replica types, Master's replicas)",
    remedy="name the replica specs as the kind does, with one Master or Launcher: {Master: {replicas: 1}, Worker: …}",
)
def roles_known(graph: Graph) -> Iterator[Finding]:
    """A job has the replica specs of its kind, with exactly one master or launcher (KJ02)."""
    for each in jobs(graph):
        known = ROLES.get(each.kind, ())
        for role, replicas in roles(each).items():
            number = whole((replicas or {}).get("replicas", 1), 1)
            if known and role not in known:
                yield each.name, f"has a replica spec {role}; a {each.kind} knows {', '.join(known)}"
            elif role in ("Master", "Launcher", "Chief") and number != 1:
                yield each.name, f"has {number} replicas of {role}, of which there is one"
            elif number < 1:
                yield each.name, f"has {number} replicas of {role}; leave the role out or give it one"


@rule(
    source="Kubernetes: Configure Multiple Schedulers; "
    "https://kubernetes.io/docs/tasks/extend-kubernetes/configure-multiple-schedulers/",
    remedy="register the scheduler (the chart volcano), or leave schedulerName out",
)
def schedulers_are_there(graph: Graph) -> Iterator[Finding]:
    """A scheduler that pods name is installed in their cluster (KJ10, KJ14)."""
    installed = any(chart_of(each) == "volcano" for each in graph.of_type(*IN_CHARTS))
    installed = installed or any(True for _ in _operators(graph, "vc-scheduler"))
    for pod in pods(graph):
        if pod.spec.get("schedulerName") == "volcano" and not installed and graph.of_type("aws:eks/cluster:Cluster"):
            yield pod.owner, f"names the scheduler volcano, which nothing installs: its pods stay Pending ({pod.path})"
