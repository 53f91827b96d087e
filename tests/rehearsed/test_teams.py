"""What people and pods of a team may do, asked of a real API server with the objects that a stack registers (Y02)."""

from typing import Any

import pytest

from rehearsal.kube.client import ApiError, Kube
from rehearsal.tests.cluster.conftest import Trial, account, eventually, tools, trial
from tests.stacks.test_teams import aws

__all__ = ["account", "tools", "trial"]
pytestmark = pytest.mark.engine

TEAM, TRIALS, TRAINERS, RESEARCH = "team-vision", "trials-vision", "gpucluster:vision:trainer", "research"
LEADS = "gpucluster:speech:operator"
ORDER = ("Namespace", "ClusterRole", "ResourceQuota", "RoleBinding", "ValidatingAdmissionPolicy")
IMAGE = "registry.k8s.io/pause:3.10"


def crd(group: str, version: str, kind: str) -> dict[str, Any]:
    """A kind of Volcano's with fields that nobody checks: what is looked at here is the policy."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.fixture(scope="module")
def kube(trial: Trial) -> Kube:
    """A cluster with the teams of the dev stack in it, and Volcano's kinds."""
    client = trial.plane.kube()
    client.apply(crd("scheduling.volcano.sh", "v1beta1", "PodGroup"), "tests")
    client.apply(crd("batch.volcano.sh", "v1alpha1", "Job"), "tests")
    of_teams = ("teams-", "team-rights", f"namespaces-{TRIALS}")
    made = [each for each in aws().resources.values() if each.custom and each.name.startswith(of_teams)]
    for each in sorted(made, key=lambda one: ORDER.index(one.kind) if one.kind in ORDER else len(ORDER)):
        client.apply(dict(each.inputs), "tests", force=True)
    eventually(lambda: client.get("v1", "ServiceAccount", "default", TEAM))
    eventually(lambda: ((client.get("v1", "ResourceQuota", "team", TEAM) or {}).get("status") or {}).get("hard"))
    eventually(lambda: _refused(client, job("training")))
    return client


def _refused(client: Kube, obj: dict[str, Any]) -> bool:
    """Policies come into force a moment after they are made."""
    try:
        client.create(obj, dry_run=True)
    except ApiError as error:
        return "own queue" in str(error)
    return False


def may(kube: Kube, group: str, verb: str, what: str, namespace: str = TEAM) -> bool:
    resource, _, api = what.partition(".")
    name, _, below = resource.partition("/")
    asked = {"verb": verb, "resource": name, "group": api, "namespace": namespace, "subresource": below}
    spec = {"user": "somebody", "groups": [group, "system:authenticated"], "resourceAttributes": asked}
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}}
    return bool(kube.create({**kind, "spec": spec})["status"]["allowed"])


@pytest.mark.parametrize(
    ("group", "verb", "what", "allowed"),
    [
        (RESEARCH, "list", "pods", True),
        (RESEARCH, "get", "pods/log", True),
        (RESEARCH, "delete", "pods", False),
        (RESEARCH, "create", "pods/exec", False),
        (RESEARCH, "get", "secrets", False),
        (TRAINERS, "create", "jobs.batch.volcano.sh", True),
        (TRAINERS, "create", "pods/exec", True),
        (TRAINERS, "get", "secrets", True),
        (TRAINERS, "create", "serviceaccounts", False),
        (TRAINERS, "update", "networkpolicies.networking.k8s.io", False),
        (TRAINERS, "delete", "networkpolicies.networking.k8s.io", False),
        (TRAINERS, "update", "resourcequotas", False),
        (TRAINERS, "create", "rolebindings.rbac.authorization.k8s.io", False),
        (TRAINERS, "update", "namespaces", False),
        (TRAINERS, "create", "experiments.kubeflow.org", False),
    ],
)
def test_people_may_what_their_role_says(kube: Kube, group: str, verb: str, what: str, allowed: bool) -> None:
    assert may(kube, group, verb, what) is allowed


@pytest.mark.parametrize("group", [RESEARCH, TRAINERS])
def test_people_read_the_experiments_of_their_team_and_change_nothing_there(kube: Kube, group: str) -> None:
    """Who could start or enter a pod there would have the shared file system, the tracker and Katib's database."""
    read = [("list", f"{each}.kubeflow.org") for each in ("experiments", "suggestions", "trials", "pytorchjobs")]
    for verb, what in (*read, ("watch", "experiments.kubeflow.org"), ("list", "pods"), ("get", "pods/log")):
        assert may(kube, group, verb, what, TRIALS), (verb, what)
    changes = [
        *((verb, "pods") for verb in ("create", "patch", "delete")),
        *(("create", f"pods/{each}") for each in ("exec", "attach", "portforward", "ephemeralcontainers")),
        *(("delete", f"{each}.kubeflow.org") for each in ("experiments", "trials", "pytorchjobs")),
        ("create", "experiments.kubeflow.org"),
        ("create", "jobs.batch"),
        ("get", "secrets"),
        ("create", "serviceaccounts/token"),
    ]
    assert [each for each in changes if may(kube, group, *each, TRIALS)] == []


OWN = {RESEARCH: (TEAM, TRIALS), TRAINERS: (TEAM, TRIALS), LEADS: ("team-speech",)}
PLACES = (TEAM, TRIALS, "team-speech", "training", "pipelines", "tracking", "kube-system", "default")
ELSEWHERE = [(group, each) for group, own in OWN.items() for each in PLACES if each not in own]
OF_OTHERS = (
    ("list", "pods"),
    ("get", "pods/log"),
    ("create", "pods/portforward"),
    ("list", "secrets"),
    ("list", "experiments.kubeflow.org"),
    ("get", "trials.kubeflow.org"),
    ("list", "pytorchjobs.kubeflow.org"),
    ("list", "workflows.argoproj.io"),
    ("create", "workflows.argoproj.io"),
)
"""How one would see experiments, pipelines and runs, their pages by port-forward among them."""


@pytest.mark.parametrize(("group", "namespace"), ELSEWHERE)
def test_people_of_a_team_may_nothing_elsewhere(kube: Kube, group: str, namespace: str) -> None:
    """Neither the stack's experiments, runs and pipelines nor those of another team."""
    assert [each for each in OF_OTHERS if may(kube, group, *each, namespace)] == []


def job(queue: str | None) -> dict[str, Any]:
    spec = {"minAvailable": 1, **({"queue": queue} if queue else {})}
    metadata = {"name": f"in-{queue or 'none'}", "namespace": TEAM}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}


def test_a_team_stays_in_its_queue(kube: Kube) -> None:
    kube.create(job("vision"))
    for other in ("training", "speech", None):
        with pytest.raises(ApiError, match="goes into its own queue, vision"):
            kube.create(job(other))


def test_a_group_of_pods_does_too_whoever_makes_it(kube: Kube) -> None:
    group: dict[str, Any] = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    group |= {"metadata": {"name": "one", "namespace": TEAM}, "spec": {"queue": "training"}}
    with pytest.raises(ApiError, match="goes into its own queue, vision"):
        kube.create(group)
    elsewhere = {**group, "metadata": {"name": "one", "namespace": "default"}}
    kube.create(elsewhere)


def pod(scheduler: str, gpus: int, *, where: str = "containers") -> dict[str, Any]:
    asking = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    container = {"name": "one", "image": IMAGE}
    spec: dict[str, Any] = {"schedulerName": scheduler, "containers": [container]}
    spec[where] = [{**container, "name": "asks", "resources": asking}]
    metadata = {"generateName": "pod-", "namespace": TEAM}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("where", ["containers", "initContainers"])
def test_a_pod_with_gpus_does_not_pass_the_queue_by(kube: Kube, where: str) -> None:
    with pytest.raises(ApiError, match="set schedulerName to volcano"):
        kube.create(pod("default-scheduler", 1, where=where), dry_run=True)
    kube.create(pod("volcano", 1, where=where), dry_run=True)
    kube.create(pod("default-scheduler", 0, where=where), dry_run=True)


def test_nobody_gets_more_than_the_quota(kube: Kube) -> None:
    with pytest.raises(ApiError, match="exceeded quota"):
        kube.create(pod("volcano", 3), dry_run=True)


def test_a_service_is_not_published_past_the_rules(kube: Kube) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "out", "namespace": TEAM}}
    spec = {"type": "LoadBalancer", "selector": {"a": "b"}, "ports": [{"port": 80}]}
    with pytest.raises(ApiError, match="exceeded quota"):
        kube.create({**service, "spec": spec})
