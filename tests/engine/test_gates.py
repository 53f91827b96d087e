"""Gates of the dev stack: runs come to nodes that were measured, and not to the one that failed (P16-P19, LF04).

On three training nodes, one of which is made slow before it is measured. What runs on the others fails later, and says
why (V01).
"""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from isolate import QUERY, WHY

from components.platform.taints import GATE_KEY, POOL_KEY
from rehearsal.command import ordering
from rehearsal.command.contents import failed
from rehearsal.kube.client import Kube
from rehearsal.kube.errors import ApiError, Unreachable

from .rehearsed import Rehearsed, rehearsed, until
from .test_scale_live import told
from .trees import Tree

pytestmark = pytest.mark.engine

POOL, RUN, WHERE = "training", "llama-3-8b-sft", "training"
WORKERS = {f"{RUN}-worker-{each}" for each in range(3)}
AMI = "ami-0123456789abcdef0"
JOB_LABEL = "batch.kubernetes.io/job-name"
SAVES = {"everyMinutes": 5, "withinSeconds": 60}


def nodes(site: Rehearsed) -> dict[str, dict[str, Any]]:
    """Nodes of the pool by name."""
    return {
        each["metadata"]["name"]: each for each in site.kube.list("v1", "Node", label_selector=f"{POOL_KEY}={POOL}")
    }


def states(site: Rehearsed) -> dict[str, str | None]:
    """What the gate found of each node; None where it found nothing yet."""
    return {name: each["metadata"]["labels"].get(GATE_KEY) for name, each in nodes(site).items()}


def verdict_of(site: Rehearsed, pool: str, node: str) -> dict[str, Any]:
    """What is kept of a node's measurement."""
    kept = site.kube.get("v1", "ConfigMap", f"gate-{pool}-verdicts", WHERE)
    assert kept is not None
    found: dict[str, Any] = json.loads(kept["data"][node])
    return found


def verdict(site: Rehearsed, node: str) -> dict[str, Any]:
    return verdict_of(site, POOL, node)


def gate_job(site: Rehearsed) -> dict[str, Any]:
    jobs = site.kube.list("batch/v1", "Job", WHERE)
    (found,) = [each for each in jobs if each["metadata"]["name"].startswith(f"gate-{POOL}-")]
    return found


def where_the_run_is(site: Rehearsed) -> set[str]:
    pods = site.kube.list("v1", "Pod", WHERE, label_selector=f"training.kubeflow.org/job-name={RUN}")
    return {each["spec"]["nodeName"] for each in pods if each["status"]["phase"] == "Running"}


def _with_gpus(site: Rehearsed) -> list[str]:
    """Nodes of the pool that offer GPUs, where the cluster answers already."""
    if not site.clusters():
        return []
    try:
        found = nodes(site)
    except (Unreachable, ApiError):
        return []
    return sorted(name for name, each in found.items() if (each["status"].get("capacity") or {}).get("nvidia.com/gpu"))


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rehearsed, str]]:
    """The dev stack on three training nodes, and the one of them that was slow before anything measured it."""
    directory = tmp_path_factory.mktemp("gated")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    stack.set("gpucluster:pools[1].count", 3)
    stack.set("gpucluster:budget.maxHourlyUsd", 40)
    stack.set("gpucluster:pools[1].ami", AMI)
    stack.set("gpucluster:training.runs[0].checkpoint", SAVES)
    with rehearsed("gated", tree, directory / "state") as site, ThreadPoolExecutor(1) as pool:
        applied = pool.submit(site.up)
        sick = until(lambda: applied.done() or _with_gpus(site), "a training node that offers GPUs", 600)
        if applied.done():
            applied.result().require()
        assert sick is not True, "the stack was applied before any node offered GPUs"
        site.order(ordering.fail, node=sick[0], kind="gpu-slow", gpu=0, target=None)
        applied.result().require()
        yield site, sick[0]


def test_a_slow_node_is_named_and_tainted_and_the_run_keeps_away_from_it(gated: tuple[Rehearsed, str]) -> None:
    site, sick = gated
    well = set(nodes(site)) - {sick}
    assert states(site) == {sick: "fail", **dict.fromkeys(well, "warn")}
    for node in well:
        others = [each["why"] for each in verdict(site, node)["lines"] if each["state"] != "pass"]
        assert others == ["not measured: fewer nodes arrived"], (
            "the sick one took no part in what is measured between nodes"
        )
    assert {"key": GATE_KEY, "value": "fail", "effect": "NoSchedule"} in nodes(site)[sick]["spec"]["taints"]
    kept = verdict(site, sick)
    assert [each["test"] for each in kept["lines"] if each["state"] == "fail"] == ["clocks"]
    assert any(each["why"].startswith("GPU 0 (slot 0000:1a:00.0) at 990 of 1980 MHz") for each in kept["lines"])
    site.settled()
    assert where_the_run_is(site) == well


def test_the_nodes_of_a_pool_with_an_image_of_its_own_joined_by_what_they_were_told(
    gated: tuple[Rehearsed, str],
) -> None:
    site, _ = gated
    assert {each["metadata"]["labels"]["eks.amazonaws.com/nodegroup-image"] for each in nodes(site).values()} == {AMI}
    reservations = site.aws("ec2").describe_instances(Filters=[{"Name": "image-id", "Values": [AMI]}])["Reservations"]
    assert sum(len(each["Instances"]) for each in reservations) == 3


def test_the_run_was_made_when_its_nodes_had_been_measured(gated: tuple[Rehearsed, str]) -> None:
    """Times of Kubernetes are whole seconds, and of one form, so that they compare as texts."""
    site, _ = gated
    (run,) = site.kube.list("kubeflow.org/v1", "PyTorchJob", WHERE)
    assert gate_job(site)["status"]["completionTime"] <= run["metadata"]["creationTimestamp"]
    assert gate_job(site)["status"]["succeeded"] == 3, "a node that failed is no failure of the measurement"


def test_nothing_is_left_to_do_after_gates_wrote_to_nodes(gated: tuple[Rehearsed, str]) -> None:
    site, _ = gated
    site.assert_quiet()


def _gate_pod(site: Rehearsed, sick: str) -> dict[str, Any]:
    """A pod of the gate on a node that is well."""
    pods = site.kube.list("v1", "Pod", WHERE, label_selector=f"{JOB_LABEL}={gate_job(site)['metadata']['name']}")
    return next(each for each in pods if each["spec"]["nodeName"] != sick)


def _as_gate(site: Rehearsed, pod: dict[str, Any] | None) -> Kube:
    """The API as the gate's account, by a token bound to a pod, or to none."""
    bound = pod and {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600, **({"boundObjectRef": bound} if bound else {})},
    }
    path = site.kube.path("v1", "ServiceAccount", WHERE, f"gate-{POOL}", "token")
    token = str(site.kube.call("POST", path, request)["status"]["token"])
    cluster = json.loads(site.kubectl("config", "view", "--raw", "--minify", "-o", "json"))["clusters"][0]["cluster"]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "gate", "user": {"token": token}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "gate"}}],
        "current-context": "it",
    }
    return Kube.from_kubeconfig(json.dumps(config))


def _refused(kube: Kube, node: str, change: dict[str, Any]) -> str:
    """The API server's words about a change of a node."""
    with pytest.raises(ApiError) as refusal:
        kube.patch("v1", "Node", node, None, change)
    return str(refusal.value)


def test_the_api_server_refuses_whatever_else_a_gates_account_writes_to_nodes(gated: tuple[Rehearsed, str]) -> None:
    """By the ValidatingAdmissionPolicy, before the real API server; RBAC alone would let all of it through."""
    site, sick = gated
    pod = _gate_pod(site, sick)
    own, kube = pod["spec"]["nodeName"], _as_gate(site, pod)
    other = next(each for each in nodes(site) if each not in (own, sick))
    system = site.kube.list("v1", "Node", label_selector=f"{POOL_KEY}=system")[0]["metadata"]["name"]
    label = {"metadata": {"labels": {f"{GATE_KEY}-at": "2026-01-01T00.00Z"}}}
    kube.patch("v1", "Node", own, None, label)
    assert nodes(site)[own]["metadata"]["labels"][f"{GATE_KEY}-at"] == "2026-01-01T00.00Z"
    stray = {"metadata": {"labels": {POOL_KEY: "inference"}}}
    for node, change, words in (
        (other, label, "a gate changes the node that its pod runs on"),
        (system, label, "a gate changes the node that its pod runs on"),
        (own, stray, f"of the labels it changes those that begin with {GATE_KEY}"),
        (own, {"metadata": {"labels": {POOL_KEY: None}}}, f"of the labels it changes those that begin with {GATE_KEY}"),
        (own, {"spec": {"taints": None}}, f"of the rest it changes the taint {GATE_KEY}"),
        (own, {"spec": {"unschedulable": True}}, f"of the rest it changes the taint {GATE_KEY}"),
    ):
        assert words in _refused(kube, node, change)
    assert "a gate changes the node that its pod runs on" in _refused(_as_gate(site, None), own, label)


def test_a_node_that_was_mended_is_measured_again_by_itself_and_let_in(gated: tuple[Rehearsed, str]) -> None:
    """Its label is taken away by who mended it: a pod of the newcomers' DaemonSet comes, and leaves when it is told."""
    site, sick = gated
    site.order(ordering.heal, node=sick, kind=None)
    site.kubectl("label", "node", sick, f"{GATE_KEY}-")
    until(lambda: states(site)[sick] == "pass", "the verdict of the node that was mended")
    taints = nodes(site)[sick]["spec"].get("taints") or []
    assert GATE_KEY not in {each["key"] for each in taints}
    newcomers = f"gpucluster/gate-newcomers={POOL}"
    until(lambda: not site.kube.list("v1", "Pod", WHERE, label_selector=newcomers), "its pod to leave")


def _kept(site: Rehearsed) -> list[dict[str, Any]]:
    """The run's failures, as they stand in the cluster."""
    found = site.kube.get("v1", "ConfigMap", "run-failures", WHERE) or {}
    kept: list[dict[str, Any]] = json.loads((found.get("data") or {}).get(RUN, "[]"))
    return kept


def test_a_run_that_fails_says_class_node_rank_and_next_step(gated: tuple[Rehearsed, str]) -> None:
    """In the cluster, as an event of its job, and in `make status`; it runs on when the GPU is well."""
    site, _ = gated
    workers = site.kube.list("v1", "Pod", WHERE, label_selector="training.kubeflow.org/replica-type=worker")
    (node,) = {each["spec"]["nodeName"] for each in workers}
    site.order(ordering.fail, node=node, kind="gpu-memory", gpu=0, target=None)
    until(lambda: _kept(site), "what the run died of to be written down")
    site.order(ordering.heal, node=node, kind=None)
    (kept,) = _kept(site)
    assert (kept["failure"], kept["node"], kept["rank"]) == ("gpu-memory", node, "worker 0")
    assert kept["said"] == "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    (shown,) = failed(site.directory, site.session.program)
    assert shown == f"run {RUN} failed at {kept['at']}: {kept['sentence']}"
    assert shown.endswith("see docs/runbooks/gpu-memory.md")
    (event,) = [
        each
        for each in site.kube.list("v1", "Event", WHERE)
        if each["involvedObject"]["kind"] == "PyTorchJob" and each.get("source", {}).get("component") == "run-watch"
    ]
    assert event["message"] == kept["sentence"]
    until(lambda: len(where_the_run_is(site)) == 2, "the run to go on")
    site.assert_quiet()


def _run_pods(site: Rehearsed) -> dict[str, dict[str, Any]]:
    """Pods of the run that run, by name."""
    pods = site.kube.list("v1", "Pod", WHERE, label_selector=f"training.kubeflow.org/job-name={RUN}")
    return {each["metadata"]["name"]: each for each in pods if each["status"]["phase"] == "Running"}


def logs(site: Rehearsed, pod: str) -> list[str]:
    """What all processes of a pod's main container printed, the first one first."""
    uid = (site.kube.get("v1", "Pod", pod, WHERE) or {"metadata": {"uid": "none"}})["metadata"]["uid"][:8]
    files = site.directory.clusters.glob(f"*/*/effects/pods/{WHERE}_{pod}_{uid}/pytorch/*/log")
    return [each.read_text() for each in sorted(files, key=lambda each: each.stat().st_mtime)]


def _assert_resumed(site: Rehearsed, first: str) -> None:
    """The process of the first rank that came after another one says from which of its saves it goes on."""

    def said() -> str:
        _, *again = logs(site, first) or [""]
        return again[-1] if again and re.search("resumed from |the run begins at step ", again[-1]) else ""

    begun = until(said, "the first rank to say where it begins again")
    assert re.search(r"resumed from /checkpoints/step-(\d+): step \1", begun), begun
    assert "the run begins at step 0" not in begun


def test_a_run_of_fixed_size_goes_on_from_its_newest_whole_save(gated: tuple[Rehearsed, str]) -> None:
    """The pod is the same one, whose process was started again."""
    site, _ = gated
    first = f"{RUN}-master-0"
    until(lambda: len(_saved(site)) > 1, "a save after the first")
    pod = _run_pods(site)[first]
    site.order(ordering.fail, node=pod["spec"]["nodeName"], kind="nccl-timeout", gpu=0, target=None)
    _assert_resumed(site, first)
    assert _run_pods(site)[first]["metadata"]["uid"] == pod["metadata"]["uid"]


@pytest.fixture(scope="module")
def elastic(gated: tuple[Rehearsed, str]) -> Rehearsed:
    """The same stack, whose run has become an elastic one of two nodes at least and three at most, which saves."""
    site, _ = gated
    stack = site.tree.stack("dev")
    run = stack.get("gpucluster:training.runs[0]")
    stack.set("gpucluster:training.runs", [{**run, "nodes": 3, "elastic": {"minNodes": 2}}])
    site.up().require()
    until(lambda: set(_run_pods(site)) == WORKERS, "all pods of the elastic run")
    return site


def test_a_run_that_is_killed_begins_at_its_newest_whole_save(elastic: Rehearsed) -> None:
    """By a failure of its node while it saves or after: what was never finished is skipped by name."""
    first, before = f"{RUN}-worker-0", _saved(elastic)
    until(lambda: len(_saved(elastic) - before) > 1, "saves of the elastic run's own")
    elastic.order(
        ordering.fail,
        node=_run_pods(elastic)[first]["spec"]["nodeName"],
        kind="nccl-timeout",
        gpu=0,
        target=None,
    )

    _assert_resumed(elastic, first)


def _saved(site: Rehearsed) -> set[str]:
    """Steps of the run that were saved whole, as the rehearsed file system has them."""
    found: set[str] = set()
    for record in site.directory.clusters.glob("*/*/effects/volumes.json"):
        for files in json.loads(record.read_text()).values():
            found |= {each for each in files if each.startswith(f"checkpoints/{RUN}/") and each.endswith("SHA256SUMS")}
    return found


def test_an_elastic_run_shrinks_with_its_lost_node_and_grows_back(elastic: Rehearsed) -> None:
    """The instance is gone for good; the one that comes in its place is measured before the run grows onto it."""
    before = _run_pods(elastic)
    lost = before[f"{RUN}-worker-2"]["spec"]["nodeName"]
    machine = nodes(elastic)[lost]["spec"]["providerID"]
    instance = machine.rpartition("/")[2]
    elastic.aws("ec2").terminate_instances(InstanceIds=[instance])
    until(lambda: lost not in where_the_run_is(elastic), "the pod of the lost node to be gone")
    left = _run_pods(elastic)
    assert {f"{RUN}-worker-0", f"{RUN}-worker-1"} <= set(left)
    (job,) = elastic.kube.list("kubeflow.org/v1", "PyTorchJob", WHERE)
    assert not [each for each in job["status"]["conditions"] if each["type"] == "Failed" and each["status"] == "True"]
    until(lambda: set(_run_pods(elastic)) == WORKERS, "the run to have all its nodes again", 300)
    after = _run_pods(elastic)
    assert all(after[name]["metadata"]["uid"] == each["metadata"]["uid"] for name, each in left.items()), "they ran on"
    grown = after[f"{RUN}-worker-2"]["spec"]["nodeName"]
    assert after[f"{RUN}-worker-2"]["metadata"]["uid"] != before[f"{RUN}-worker-2"]["metadata"]["uid"]
    assert nodes(elastic)[grown]["spec"]["providerID"] != machine, "addresses, and so names, are given out again"
    assert states(elastic)[grown] in ("pass", "warn"), "nobody comes to a node that was not measured"


def _open(site: Rehearsed) -> set[str]:
    """Nodes of the pool that take new pods."""
    return {name for name, each in nodes(site).items() if not each["spec"].get("unschedulable")}


def test_what_an_alert_says_of_a_node_keeps_pods_off_it_until_it_is_well_and_measured_again(
    gated: tuple[Rehearsed, str],
) -> None:
    """From the driver's XID in the exporter through the rule of the real Prometheus to the node (U03, U04, U05).

    The Alertmanager tells people of the same node; the others stay open. EKS repairs nothing here, as on racks: it
    would cordon and replace the node first.
    """
    site, _ = gated
    # A node that an alert closes beneath a run is measured when the run is gone.
    until(lambda: not site.asked(QUERY), "nothing to be said any more of what the tests before this one broke", 420)
    stack = site.tree.stack("dev")
    stack.set("gpucluster:monitoring.isolation", {"most": 1})
    stack.set("gpucluster:pools[1].repair", False)
    site.up().require()
    site.settled()
    until(lambda: _open(site) == set(nodes(site)), "every node to take pods", 420)
    everyone = _open(site)
    sick = max(name for name, state in states(site).items() if state in ("pass", "warn"))
    measured = verdict(site, sick)["at"]
    site.order(ordering.fail, node=sick, kind="gpu-driver", gpu=0, target=None)
    until(lambda: sick not in _open(site), f"{sick} to be cordoned")
    assert _open(site) == everyone - {sick}
    assert nodes(site)[sick]["metadata"]["annotations"][WHY] == "gpu-driver"
    until(lambda: ("gpu-driver", sick) in told(site), "people to be told of the same")
    # As the runbook says: a pod that stays keeps its GPU, and nothing is measured beside it.
    site.kubectl("drain", sick, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=300s")
    site.order(ordering.heal, node=sick, kind=None)
    until(lambda: sick in _open(site), f"{sick} to come back")
    assert WHY not in nodes(site)[sick]["metadata"].get("annotations", {})
    until(lambda: states(site)[sick] == "pass", "its new verdict")
    assert verdict(site, sick)["at"] != measured
    until(lambda: ("gpu-driver", sick) not in told(site), "nothing more to be told of it", 420)
    reasons = [
        each["reason"]
        for each in site.kube.list("v1", "Event", "default")
        if each["involvedObject"]["name"] == sick and each.get("source", {}).get("component") == "isolation"
    ]
    assert sorted(reasons) == ["GivenBack", "Isolated"]
