"""How the real Volcano shares 256 nodes as the program configures it, by gangs, priorities and queues (M02, M05, A08).

Nodes are objects without a kubelet: what is looked at is which pods get one, and which lose theirs.
"""

import base64
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from catalogue.versions import VOLCANO
from components.kubeflow.experiment import Experiment
from components.platform.priorities import PRIORITIES
from components.platform.training_operator import CERTIFICATE
from components.platform.volcano import EVERY_NODE, volcano_values
from components.training.job import TrainingJob
from components.training.pod import RUN_KEY
from rehearsal.charts.chart import Order
from rehearsal.charts.sources import find
from rehearsal.kube.client import ApiError, Kube
from tests.components.samples import built
from tests.components.samples.kubeflow import experiment_args
from tests.components.samples.training import job_args

from .rehearsed import until
from .test_near import gang, node, places, pod, refused, scheduled

pytestmark = pytest.mark.engine

NODES = 256
patiently = partial(until, seconds=600)
"""Nodes that are gone are noticed after a minute, and a busy machine takes its time."""

QUEUES = {"training": 3, "experiments": 1}
JOB = ("kubeflow.org/v1", "PyTorchJob")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """All nodes, the program's priorities, two queues and the training operator."""
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, (value, _) in PRIORITIES.items()
    ]
    machines = [node(f"n-{index:03d}", "leaf") for index in range(NODES)]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": CERTIFICATE, "namespace": "default"}}
    home = tmp_path_factory.mktemp("queues")
    with scheduled(home, [*machines, *classes, secret], operator=True) as kube:
        mount(kube, home / "k8s-webhook-server" / "serving-certs")
        for name, weight in QUEUES.items():
            meta = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
            kube.create({**meta, "spec": {"weight": weight, "reclaimable": True}})
            # Volcano's controllers, which are not here, open it.
            kube.patch("scheduling.volcano.sh/v1beta1", "Queue", name, None, {"status": {"state": "Open"}}, "status")
        yield kube


def mount(kube: Kube, directory: Path) -> None:
    """The operator's certificate, as a kubelet brings it: before that it does nothing."""
    secret = ("v1", "Secret", CERTIFICATE, "default")
    data = until(lambda: (kube.get(*secret) or {}).get("data"), "the operator to make its certificate")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in data.items():
        (directory / name).write_bytes(base64.b64decode(text))


@pytest.fixture
def kube(full: Kube) -> Iterator[Kube]:
    """The same, empty before and after."""
    yield full
    for kind, api in (JOB[::-1], ("PodGroup", "scheduling.volcano.sh/v1beta1"), ("Pod", "v1")):
        for each in full.list(api, kind, "default"):
            full.delete(each)
    until(lambda: not full.list("v1", "Pod", "default"), "the pods to be gone")


def busy(kube: Kube, count: int, first: int = 0, priority: str = "inference") -> None:
    """Pods of a service on so many nodes, which Volcano did not place."""
    for index in range(first, first + count):
        name = f"served-{index}"
        spec: dict[str, Any] = {"schedulerName": "default-scheduler", "nodeName": f"n-{index:03d}"}
        made = pod(name, "served", priorityClassName=priority, **spec)
        del made["metadata"]["annotations"]
        kube.create(made)


def test_the_chart_tells_the_scheduler_to_look_at_every_node() -> None:
    order = Order("volcano", "volcano-system", volcano_values(VOLCANO.version), "1.36.3", frozenset())
    made = find("volcano", VOLCANO.version).render(order)
    (scheduler,) = [
        each for each in made if (each["kind"], each["metadata"]["name"]) == ("Deployment", "volcano-scheduler")
    ]
    args = scheduler["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("--node-worker-threads=20") + 1] == EVERY_NODE


def test_a_gang_of_32_starts_whole_or_not_at_all_m02(kube: Kube) -> None:
    busy(kube, NODES - 31)
    gang(kube, "whole", 32, queue="training")
    until(lambda: refused(kube, "whole"), "Volcano to find 31 nodes for 32 pods")
    assert places(kube, "whole") == []
    (gone, *_) = kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}=served")
    kube.delete(gone)
    until(lambda: len(set(places(kube, "whole"))) == 32, "all 32 to have nodes")


def test_what_serves_people_is_not_preempted_by_training_a08(kube: Kube) -> None:
    """Volcano takes nodes of experiments, never of a service: the gang waits, and every replica stays."""
    busy(kube, NODES - 4)
    gang(kube, "low", 4, queue="experiments")
    until(lambda: len(places(kube, "low")) == 4, "the experiment to have nodes")
    gang(kube, "high", 5, queue="training")
    until(lambda: refused(kube, "high"), "Volcano to find four nodes for five pods")
    assert len(places(kube, "served")) == NODES - 4
    assert places(kube, "high") == []


def test_a_gang_of_256_has_every_node(kube: Kube) -> None:
    gang(kube, "all", NODES, queue="training")
    patiently(lambda: len(set(places(kube, "all"))) == NODES, "all pods to have nodes")


def held(kube: Kube, prefix: str) -> list[dict[str, Any]]:
    """Pods of a name that begins so which have a node."""
    found = kube.list("v1", "Pod", "default")
    return [each for each in found if each["metadata"]["name"].startswith(prefix) and each["spec"].get("nodeName")]


def say(kube: Kube, pods: list[dict[str, Any]], **status: Any) -> None:
    """What a kubelet says of pods that run."""
    for each in pods:
        kube.patch(
            "v1", "Pod", each["metadata"]["name"], "default", {"status": {"phase": "Running", **status}}, "status"
        )


def test_two_queues_share_by_weight_m05(kube: Kube) -> None:
    """192 and 64 nodes, by weights of 3 and 1: trials that had every node give back what is beyond their share."""
    for index in range(NODES):
        gang(kube, f"trial-{index}", 1, queue="experiments")
    patiently(lambda: len(held(kube, "trial")) == NODES, "the trials to have every node")
    say(kube, held(kube, "trial"))
    for index in range(NODES // 4):
        gang(kube, f"run-{index}", 4, queue="training")
    patiently(lambda: len(held(kube, "run")) == NODES * 3 // 4, "the runs to have their share")
    assert len(held(kube, "trial")) == NODES // 4


def job(run: str, nodes: int, **changes: Any) -> dict[str, Any]:
    """The component's PyTorchJob, but for its pods' own: whole nodes, and nothing mounted."""
    asked = {"run": run, "nodes": nodes, "restarts": 1, "queue": "training", **changes}
    graph = built(lambda opts: TrainingJob("sample", job_args(**asked), opts))
    return bare(run, graph.one("sample-job").inputs["spec"])


def trial(name: str, nodes: int) -> dict[str, Any]:
    """The job that Katib makes of the component's Experiment for a trial, bare like `job`."""
    asked = {"nodes": nodes, "queue": "training"}
    graph = built(lambda opts: Experiment("sample", experiment_args(trial=asked), opts))
    spec = graph.one("sample-experiment").inputs["spec"]
    return bare(name, spec["trialTemplate"]["trialSpec"]["spec"])


def bare(run: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    first = spec["runPolicy"]["schedulingPolicy"].get("priorityClass")
    template = pod("any", run, **({"priorityClassName": first} if first else {}))["spec"]
    for each in spec["pytorchReplicaSpecs"].values():
        each["template"] = {"metadata": {"labels": {RUN_KEY: run}}, "spec": template}
    return {"apiVersion": JOB[0], "kind": JOB[1], "metadata": {"name": run, "namespace": "default"}, "spec": spec}


def env(kube: Kube, name: str) -> dict[str, str]:
    """Variables of a pod that the operator made."""
    found = patiently(lambda: kube.get("v1", "Pod", name, "default"), f"pod {name}")
    return {each["name"]: each.get("value", "") for each in found["spec"]["containers"][0]["env"]}


def conditions(kube: Kube, run: str) -> set[str]:
    found = kube.get(*JOB, run, "default") or {}
    return {each["type"] for each in found.get("status", {}).get("conditions", ()) if each["status"] == "True"}


def test_a_trial_gives_way_to_a_run_of_its_queue_and_comes_back_r02(kube: Kube) -> None:
    """Its pods go, its job does not: the operator makes them again, they wait as a gang, and have nodes when the run
    is over.
    """
    busy(kube, NODES - 2)
    kube.create(trial("rates-bbbbbbbb", 2))
    patiently(lambda: len(places(kube, "rates-bbbbbbbb")) == 2, "the trial to have nodes")
    say(kube, held(kube, "rates-bbbbbbbb"))
    patiently(lambda: "Running" in conditions(kube, "rates-bbbbbbbb"), "the operator to see it run")
    first = uids(kube, "rates-bbbbbbbb")
    kube.create(job("planned", 2))
    patiently(lambda: len(places(kube, "planned")) == 2, "the run to have the trial's nodes")
    again = patiently(lambda: uids(kube, "rates-bbbbbbbb") - first, "the operator to make the trial's pods again")
    assert places(kube, "rates-bbbbbbbb") == []
    say(kube, held(kube, "planned"))
    assert "Failed" not in conditions(kube, "rates-bbbbbbbb")
    kube.delete(job("planned", 2))
    patiently(lambda: len(places(kube, "rates-bbbbbbbb")) == 2, "the trial to have nodes again")
    assert again <= uids(kube, "rates-bbbbbbbb")
    say(kube, held(kube, "rates-bbbbbbbb"))
    patiently(lambda: "Running" in conditions(kube, "rates-bbbbbbbb"), "the operator to see it run again")
    assert not {"Failed", "Succeeded"} & conditions(kube, "rates-bbbbbbbb")


def test_a_trial_keeps_what_its_own_queue_deserves_while_there_are_gpus_elsewhere(kube: Kube) -> None:
    """Proportion shares out what all nodes have, those of services too: as long as queues ask for less, each deserves
    what it holds, and a run of another queue waits (volcano pkg/scheduler/plugins/proportion/proportion.go).
    """
    busy(kube, NODES - 2)
    gang(kube, "trial", 2, queue="experiments")
    patiently(lambda: len(places(kube, "trial")) == 2, "the trial to have nodes")
    say(kube, held(kube, "trial"))
    gang(kube, "waits", 2, queue="training")
    patiently(lambda: refused(kube, "waits"), "Volcano to find no node for two pods")
    assert len(places(kube, "trial")) == 2


def uids(kube: Kube, run: str) -> set[str]:
    found = kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}={run}")
    return {each["metadata"]["uid"] for each in found}


def test_a_run_of_fixed_size_that_is_preempted_comes_back_as_the_same_pods_s07(kube: Kube) -> None:
    """A gang of higher priority takes its nodes; when that has gone the operator's new pods have nodes again, all of
    them, and each is as it was: rank, directories and variables, by which it resumes (tests/node/test_saves.py).
    """
    busy(kube, NODES - 4)
    kube.create(job("low", 4, priority="experiments"))
    patiently(lambda: len(places(kube, "low")) == 4, "the run to have nodes")
    say(kube, held(kube, "low"))
    patiently(lambda: "Running" in conditions(kube, "low"), "the operator to see it run")
    before = {each["metadata"]["name"]: each for each in held(kube, "low")}
    gang(kube, "high", 4, queue="training")
    patiently(lambda: len(places(kube, "high")) == 4, "the gang to take the nodes")

    def again() -> dict[str, dict[str, Any]]:
        found = kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}=low")
        uids = {each["metadata"]["uid"] for each in before.values()}
        return {each["metadata"]["name"]: each for each in found if each["metadata"]["uid"] not in uids}

    patiently(lambda: set(again()) == set(before), "the operator to make the pods again")
    assert places(kube, "low") == []
    assert "Failed" not in conditions(kube, "low")
    for each in kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}=high"):
        kube.delete(each)
    kube.delete(kube.get("scheduling.volcano.sh/v1beta1", "PodGroup", "high", "default") or {})
    patiently(lambda: len(set(places(kube, "low"))) == 4, "the run to have nodes again")
    for name, pod_again in again().items():
        (container,), (first,) = pod_again["spec"]["containers"], before[name]["spec"]["containers"]
        assert (container["env"], container["resources"]) == (first["env"], first["resources"])
    say(kube, held(kube, "low"))
    patiently(lambda: "Running" in conditions(kube, "low"), "the operator to see it run again")


def test_an_elastic_run_below_its_fewest_nodes_waits_and_then_ends_and_leaves_nothing_t04(kube: Kube) -> None:
    """Two of three nodes go, one comes back: it is two again. Then torchrun's patience ends as often as it may, and the
    operator fails the job: no pod, no gang, and its node is another's.
    """
    busy(kube, NODES - 3)
    kube.create(job("shrinks", 3, elastic=2))
    patiently(lambda: len(places(kube, "shrinks")) == 3, "three workers to have nodes")
    say(kube, held(kube, "shrinks"))
    patiently(lambda: "Running" in conditions(kube, "shrinks"), "the operator to see them run")
    at = {each["metadata"]["name"]: each["spec"]["nodeName"] for each in held(kube, "shrinks")}
    first, *lost = (at[f"shrinks-worker-{index}"] for index in range(3))
    for name in lost:
        kube.delete({**node(name, "leaf"), "metadata": {"name": name}})
    patiently(lambda: places(kube, "shrinks") == [first], "the pods of lost nodes to go")
    kube.create(node(lost[0], "leaf"))
    patiently(lambda: sorted(places(kube, "shrinks")) == sorted([first, lost[0]]), "two nodes again")
    kube.delete({**node(lost[0], "leaf"), "metadata": {"name": lost[0]}})
    patiently(lambda: places(kube, "shrinks") == [first], "the pod of the lost node to go")
    assert "Failed" not in conditions(kube, "shrinks")
    status = {"name": "pytorch", "image": "", "imageID": "", "ready": True, "restartCount": 4}
    say(kube, held(kube, "shrinks"), containerStatuses=[status])
    patiently(lambda: "Failed" in conditions(kube, "shrinks"), "the operator to give up")
    patiently(lambda: not kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}=shrinks"), "its pods to go")
    patiently(lambda: not kube.get("scheduling.volcano.sh/v1beta1", "PodGroup", "shrinks", "default"), "its gang to go")
    gang(kube, "next", 1, queue="training")
    patiently(lambda: places(kube, "next") == [first], "another run to have its node")
    for name in lost:
        kube.create(node(name, "leaf"))


def test_an_elastic_run_without_its_gangs_minimum_never_starts_on_fewer_nodes_kj09(kube: Kube) -> None:
    """As somebody wrote it; the program says the minimum, and the same run starts."""
    busy(kube, NODES - 2)
    right = job("fewer", 3, elastic=2)
    wrong = job("all", 3, elastic=2)
    del wrong["spec"]["runPolicy"]["schedulingPolicy"]["minAvailable"]
    kube.create(wrong)
    patiently(lambda: refused(kube, "all"), "Volcano to find two nodes for three pods")
    assert places(kube, "all") == []
    kube.create(right)
    patiently(lambda: len(places(kube, "fewer")) == 2, "two workers to have nodes")
    assert places(kube, "all") == []


def test_a_master_beside_an_elastic_policy_is_told_two_places_to_meet_kj02(kube: Kube) -> None:
    """And a count of nodes without it. KJ05: with a key that the CRD does not know it is refused."""
    wrong = job("both", 3, elastic=2)
    worker, policy = wrong["spec"]["pytorchReplicaSpecs"]["Worker"], wrong["spec"]["elasticPolicy"]
    wrong["spec"]["pytorchReplicaSpecs"]["Master"] = {**worker, "replicas": 1}
    policy["rdzvConfigs"] = policy.pop("rdzvConf")
    with pytest.raises(ApiError, match=r"unknown field \"spec\.elasticPolicy\.rdzvConfigs\""):
        kube.create(wrong)
    policy["rdzvConf"] = policy.pop("rdzvConfigs")
    kube.create(wrong)
    kube.create(job("workers", 3, elastic=2))
    both, right = env(kube, "both-worker-0"), env(kube, "workers-worker-0")
    assert both["MASTER_ADDR"] == "both-master-0"
    assert both["PET_RDZV_ENDPOINT"] == "both-worker-0:23456"
    assert both["PET_NNODES"] == "2:3", "of four pods"
    assert right["PET_RDZV_ENDPOINT"] == "workers-worker-0:23456"
    assert right["PET_RDZV_CONF"] == "join_timeout=900"
    assert "MASTER_ADDR" not in right


def test_the_places_to_meet_that_somebody_writes_by_hand_are_overwritten_kj07(kube: Kube) -> None:
    """The operator appends its own variables, and of two with one name a pod gets the last; an elastic run has none."""
    wrong, elastic = job("by-hand", 2), job("elastic-by-hand", 3, elastic=2)
    by_hand = [{"name": "MASTER_ADDR", "value": "10.0.0.9"}, {"name": "MASTER_PORT", "value": "29400"}]
    for made in (wrong, elastic):
        for each in made["spec"]["pytorchReplicaSpecs"].values():
            spec = each["template"]["spec"]
            each["template"]["spec"] = {**spec, "containers": [{**spec["containers"][0], "env": by_hand}]}
        kube.create(made)
    found = patiently(lambda: kube.get("v1", "Pod", "by-hand-worker-0", "default"), "its worker")
    told = [each["value"] for each in found["spec"]["containers"][0]["env"] if each["name"] == "MASTER_ADDR"]
    assert told == ["10.0.0.9", "by-hand-master-0"]
    assert env(kube, "by-hand-worker-0")["MASTER_PORT"] == "23456"
    of_elastic = env(kube, "elastic-by-hand-worker-0")
    assert of_elastic["MASTER_ADDR"] == "10.0.0.9", "nobody's: ranks meet elsewhere"
    assert of_elastic["PET_RDZV_ENDPOINT"] == "elastic-by-hand-worker-0:23456"


def test_a_job_in_a_namespace_that_nobody_made_is_refused_kj20(kube: Kube) -> None:
    wrong = job("lost", 2)
    with pytest.raises(ApiError, match=r"namespaces .?.?training.?.? not found"):
        kube.create({**wrong, "metadata": {**wrong["metadata"], "namespace": "training"}})


def test_gpus_in_requests_alone_and_a_deployment_without_selector_are_refused_kj23(kube: Kube) -> None:
    wrong = pod("detector", "detector")
    container = {**wrong["spec"]["containers"][0], "resources": {"requests": {"nvidia.com/gpu": "1"}}}
    with pytest.raises(ApiError, match="Limit must be set for non overcommitable resources"):
        kube.create({**wrong, "spec": {**wrong["spec"], "containers": [container]}})
    template = {"metadata": {"labels": {"app": "detector"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    meta = {"name": "private-detector", "namespace": "default"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"template": template}}
    with pytest.raises(ApiError, match=r"spec\.selector: Required value"):
        kube.create(deployment)
