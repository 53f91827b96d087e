"""Where the real Volcano puts a gang on a fabric of two leaves: by its networkTopology, or the affinity of its pods."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.platform.hyper_nodes import LEAF_KEY, HyperNodeSpec
from components.platform.training_operator import FLAGS
from components.platform.volcano import EVERY_NODE, scheduler_config
from components.training.pod import RUN_KEY, affinity
from rehearsal.cluster import ControlPlane
from rehearsal.keys import Account, Keys
from rehearsal.kube.client import ApiError, Kube
from rehearsal.places import free_port
from rehearsal.toolchain import crds, ensure

from .rehearsed import until

pytestmark = pytest.mark.engine

NOWHERE = Account("http://127.0.0.1:9", Keys("AKIANOBODY", "none", "none"))
"""No account: nobody asks for tokens here."""
LEAVES = {
    "leaf-r0-01": ["dgx-01", "dgx-02", "dgx-03", "dgx-04"],
    "leaf-r0-02": ["dgx-05", "dgx-06", "dgx-07", "dgx-08"],
}
SPINE = "spine-01"
GROUP_KEY = "scheduling.k8s.io/group-name"
WITHIN_LEAF = {"mode": "hard", "highestTierAllowed": 1}
GPUS = {"nvidia.com/gpu": "8"}
ASKED = {"cpu": "8", "memory": "80Gi", **GPUS}


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """Eight nodes and their HyperNodes."""
    fabric = [node(name, leaf) for leaf, names in LEAVES.items() for name in names]
    with scheduled(tmp_path_factory.mktemp("near"), [*fabric, *tree()], near=True) as made:
        yield made


@contextmanager
def scheduled(
    home: Path, objects: Iterable[Mapping[str, Any]], *, near: bool = False, operator: bool = False
) -> Iterator[Kube]:
    """A control plane with these objects and Volcano's scheduler as the program configures it, and the training
    `operator`.
    """
    tools = ensure(["etcd", "kubernetes", "kwok", "volcano", "training"])
    plane = ControlPlane(home / "plane", home.name, "us-east-2", NOWHERE, tools)
    plane.start()
    try:
        made = plane.kube()
        for path in (*crds("volcano"), *crds("training-operator")):
            made.create(yaml.safe_load(path.read_text()))
        for each in objects:
            until(partial(taken, made, each), f"{each['metadata']['name']} to be taken")
        account = ("v1", "ServiceAccount", "default", "default")
        until(lambda: made.get(*account), "the account that pods have by themselves")
        configuration = home / "scheduler.conf"
        configuration.write_text(scheduler_config(near=near))
        words = [f"--scheduler-conf={configuration}", f"--cache-dump-dir={home}", "--leader-elect=false", EVERY_NODE]
        scheduler = [str(tools["vc-scheduler"]), *words, *at("healthz-address", "listen-address")]
        manager = [
            str(tools["training-operator.v1"]),
            *FLAGS,
            "--namespace=default",
            f"--webhook-server-port={free_port()}",
        ]
        manager += at("metrics-bind-address", "health-probe-bind-address")
        with ExitStack() as processes:
            for argv in (scheduler, manager) if operator else (scheduler,):
                processes.enter_context(process([*argv, f"--kubeconfig={plane.admin_kubeconfig}"], home))
            queue = ("scheduling.volcano.sh/v1beta1", "Queue", "default")
            until(lambda: made.get(*queue), "Volcano's own queue")
            # Its controllers, which are not here, open it.
            made.patch(*queue[:3], None, {"status": {"state": "Open"}}, "status")
            yield made
    finally:
        plane.stop()


@contextmanager
def process(words: Sequence[str], home: Path) -> Iterator[None]:
    """A controller runs, with its log and its scratch in `home`."""
    env = {**os.environ, "GOGC": "50", "TMPDIR": str(home), "MY_POD_NAMESPACE": "default"}
    with (home / Path(words[0]).name).open("wb") as log, subprocess.Popen(words, stderr=log, env=env) as run:
        try:
            yield
        finally:
            run.terminate()


def at(*flags: str) -> list[str]:
    """A free port of this machine for each flag."""
    return [f"--{flag}=127.0.0.1:{free_port()}" for flag in flags]


def node(name: str, leaf: str) -> dict[str, Any]:
    room = {"cpu": "80", "memory": "800Gi", "pods": "100", **GPUS}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, LEAF_KEY: leaf}},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def tree() -> list[dict[str, Any]]:
    """The HyperNodes as the component makes them."""
    specs = [HyperNodeSpec(name=leaf, tier=1, members=names) for leaf, names in LEAVES.items()]
    specs.append(HyperNodeSpec(name=SPINE, tier=2, members=list(LEAVES)))
    api = "topology.volcano.sh/v1alpha1"
    return [
        {"apiVersion": api, "kind": "HyperNode", "metadata": {"name": each.name}, "spec": each.body()} for each in specs
    ]


def taken(kube: Kube, wanted: Mapping[str, Any]) -> bool:
    """Whether the API server has the object; its kind is served a moment after its definition."""
    try:
        kube.apply(wanted, "tests")
    except ApiError:
        return False
    return True


def pod(name: str, run: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "example.com/trainer:1", "resources": {"limits": ASKED}}
    meta = {"name": name, "namespace": "default", "labels": {RUN_KEY: run}, "annotations": {GROUP_KEY: run}}
    made = {"schedulerName": "volcano", "terminationGracePeriodSeconds": 0, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": made}


def gang(
    kube: Kube, run: str, pods: int, topology: Mapping[str, Any] | None = None, queue: str | None = None, **spec: Any
) -> None:
    """A PodGroup as an operator writes it, and its pods; of a priority that is called as its `queue`."""
    wanted = {"minMember": pods, "queue": queue or "default", "minResources": {"nvidia.com/gpu": str(8 * pods)}}
    first = {"priorityClassName": queue} if queue else {}
    kube.create(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": run, "namespace": "default"},
            "spec": {**wanted, **first, **({"networkTopology": dict(topology)} if topology else {})},
        }
    )
    for number in range(pods):
        kube.create(pod(f"{run}-{number}", run, **first, **spec))


def places(kube: Kube, run: str) -> list[str]:
    """The nodes of a run's pods that have one."""
    found = kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}={run}")
    return [each["spec"]["nodeName"] for each in found if each["spec"].get("nodeName")]


def leaves(nodes: Sequence[str]) -> set[str]:
    return {leaf for leaf, names in LEAVES.items() for name in nodes if name in names}


def end(kube: Kube, *runs: str) -> None:
    """Take runs away; nothing of theirs is left."""
    for run in runs:
        for each in kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}={run}"):
            kube.delete(each)
    until(lambda: not kube.list("v1", "Pod", "default"), "the pods to be gone")


def refused(kube: Kube, run: str) -> bool:
    """Whether the scheduler has looked at the group and found no place."""
    found = kube.get("scheduling.volcano.sh/v1beta1", "PodGroup", run, "default")
    told = ((found or {}).get("status") or {}).get("conditions") or []
    return any(each["type"] == "Unschedulable" and each["status"] == "True" for each in told)


def test_a_gang_that_is_to_be_within_a_leaf_waits_for_one(kube: Kube) -> None:
    """Six nodes are free, three at each leaf: the gang of four waits, and goes to the leaf that has four again."""
    for leaf, names in LEAVES.items():
        kube.create(pod(f"{leaf}-taken", f"{leaf}-taken", nodeName=names[0]))
    gang(kube, "within", 4, WITHIN_LEAF)
    until(lambda: refused(kube, "within"), "Volcano to find no leaf for it")
    assert places(kube, "within") == []
    (busy,) = kube.list("v1", "Pod", "default", label_selector=f"{RUN_KEY}=leaf-r0-02-taken")
    kube.delete(busy)
    until(lambda: len(places(kube, "within")) == 4, "the gang to have nodes")
    assert leaves(places(kube, "within")) == {"leaf-r0-02"}
    end(kube, "within", "leaf-r0-01-taken")


def test_pods_of_a_gang_without_a_topology_go_where_the_first_is(kube: Kube) -> None:
    gang(kube, "near", 4, affinity=affinity("near", measured=False, near=LEAF_KEY))
    until(lambda: len(places(kube, "near")) == 4, "the gang to have nodes")
    assert len(leaves(places(kube, "near"))) == 1
    end(kube, "near")


def test_a_gang_of_more_nodes_than_a_leaf_has_is_on_both(kube: Kube) -> None:
    gang(kube, "wide", 6, affinity=affinity("wide", measured=False, near=LEAF_KEY))
    until(lambda: len(places(kube, "wide")) == 6, "the gang to have nodes")
    assert len(leaves(places(kube, "wide"))) == 2
    end(kube, "wide")
