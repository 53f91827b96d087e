"""A stack under load and under failures, for ten minutes: `make test-scale`.

Two model services on one pool, the real autoscaler with its real metrics, and every kind of failure that `make fail`
knows, told by the real Alertmanager. The windows of the autoscaler are a tenth of those of the stack files, 12 and 30 s
in place of 120 and 300, and exporters are read every 10 s in place of 30: Kubernetes' clock cannot run faster, the
settings can be smaller.
"""

import time
from collections.abc import Iterator

import pytest

from monitoring.failures import failures
from rehearsal.command import ordering
from rehearsal.kubelet import faults
from settings.serving import Service
from tests.rehearsed.test_alerts_fire import ALERTS

from .rehearsed import Rehearsed, operations, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

UP_S, DOWN_S = (Service.model_fields[f"scale_{way}_seconds"].default // 10 for way in ("up", "down"))
SCRAPE_S, EVALUATION_S = 10, 30
LEAST, MOST = 2, 6
BUSY, QUIET = "llama-3-8b", "other"
RPS = 80.0
"""What six replicas of an 8B model on an L40S can do (14 requests a second each), and two cannot."""
WHERE = "inference"
WHOSE = {each.alert: each.id for each in failures()}
OF_KIND = {**ALERTS, "oom": "out-of-memory", "nccl-timeout": "run-failed"}
KNOCK_ON = {"run-failed", "run-starved", "run-slow", "service-down", "service-slow", "gang-stuck", "queue-waits"}
"""What a failure of a node may do to the run or the service on it: told after it, of the run, and not of the node."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack with seven inference nodes and a second service, applied; both autoscalers have their metrics."""
    directory = tmp_path_factory.mktemp("live")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    stack.set("gpucluster:pools[2].count", MOST + 1)
    stack.set("gpucluster:budget.maxHourlyUsd", 40)
    stack.set("gpucluster:monitoring.scrapeSeconds", SCRAPE_S)
    paced = {"minReplicas": LEAST, "maxReplicas": MOST, "scaleUpSeconds": UP_S, "scaleDownSeconds": DOWN_S}
    service = {**stack.get("gpucluster:serving.services[0]"), **paced}
    other = {**service, "name": QUIET, "minReplicas": 1, "maxReplicas": 2}
    stack.set("gpucluster:serving.services", [service, other])
    with rehearsed("live", tree, directory / "state") as site:
        site.up().require()
        site.settled()
        until(lambda: scaling(site, BUSY) and scaling(site, QUIET), "both autoscalers have their metrics")
        yield site


def scaling(site: Rehearsed, name: str) -> bool:
    """Whether the autoscaler of a service is able to compute replicas."""
    found = site.kube.get("autoscaling/v2", "HorizontalPodAutoscaler", name, WHERE) or {}
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(each["type"] == "ScalingActive" and each["status"] == "True" for each in conditions)


def replicas(site: Rehearsed, name: str) -> tuple[int, int]:
    """Replicas that a service's Deployment asks for, and those that are ready."""
    found = site.kube.get("apps/v1", "Deployment", name, WHERE) or {}
    return int(found["spec"]["replicas"]), int(found["status"].get("readyReplicas") or 0)


def restarts(site: Rehearsed) -> dict[str, int]:
    """How often containers of the services' pods were started again."""
    pods = site.kube.list("v1", "Pod", WHERE)
    told = ((pod["metadata"]["name"], each) for pod in pods for each in pod["status"].get("containerStatuses") or ())
    return {name: int(each["restartCount"]) for name, each in told if each["restartCount"]}


def offer(site: Rehearsed, rps: float) -> None:
    site.order(ordering.load, service=f"{WHERE}/{BUSY}", rps=rps, seconds=1800)


class Watched:
    """The replicas that a service had while somebody looked, without repetition."""

    def __init__(self, site: Rehearsed) -> None:
        self.site, self.busy, self.quiet = site, [replicas(site, BUSY)[0]], {replicas(site, QUIET)[0]}

    def ready(self, count: int) -> bool:
        now = replicas(self.site, BUSY)
        if now[0] != self.busy[-1]:
            self.busy.append(now[0])
        self.quiet.add(replicas(self.site, QUIET)[0])
        return now == (count, count)


def told(site: Rehearsed) -> set[tuple[str, str]]:
    """Failures that the Alertmanager tells people of now, and of which node; what a cause keeps quiet is not there."""
    fields = {"active": "true", "silenced": "false", "inhibited": "false"}
    found = site.answered("alertmanager-operated.monitoring:9093", "api/v2/alerts", **fields)
    every = [each["labels"] for each in found]
    return {(WHOSE[each["alertname"]], each.get("node", "")) for each in every if each["alertname"] in WHOSE}


def test_nothing_is_told_of_a_cluster_in_which_all_is_well(live: Rehearsed) -> None:
    until(lambda: not told(live), "no alert", 240)


def test_load_takes_a_service_from_two_replicas_to_six_and_back_and_leaves_the_other_alone(live: Rehearsed) -> None:
    """One more at a time; `up` in between changes no replicas (IN06), and a start that takes its time is no crash."""
    seen = Watched(live)
    offer(live, RPS)
    began = time.monotonic()
    until(lambda: seen.ready(LEAST + 1) or replicas(live, BUSY)[0] > LEAST, "the third replica", 120)
    assert time.monotonic() - began >= UP_S, "it was asked for before the load had lasted"
    before = replicas(live, BUSY)[0]
    assert operations(live.up()) == []
    assert replicas(live, BUSY)[0] >= before, "up took replicas away"
    until(lambda: seen.ready(MOST), "six replicas are ready", 240)
    assert seen.busy == sorted(seen.busy), "none was taken away under load"
    live.assert_quiet()
    offer(live, 0)
    until(lambda: seen.ready(LEAST), "two replicas are left", 480)
    assert seen.busy[-1] == LEAST
    assert all(abs(one - other) <= 2 for one, other in zip(seen.busy, seen.busy[1:], strict=False))
    assert seen.quiet == {1}, "the other service has a load of its own, which is none"
    assert restarts(live) == {}


def test_without_its_metrics_a_service_keeps_its_replicas_and_somebody_is_told(live: Rehearsed) -> None:
    """The adapter is gone while requests end: nothing is taken away, and the alert names it; both end with it."""
    adapter = ("scale", "--namespace", "monitoring", "deployment/prometheus-adapter")
    offer(live, RPS)
    until(lambda: replicas(live, BUSY)[0] > LEAST, "a third replica", 120)
    live.kubectl(*adapter, "--replicas=0")
    until(lambda: not scaling(live, BUSY), "the autoscaler has no metric", 120)
    kept = replicas(live, BUSY)[0]
    offer(live, 0)
    until(lambda: ("autoscaler-blind", "") in told(live), "it is told", 300)
    settled = time.monotonic() + 3 * DOWN_S
    until(lambda: time.monotonic() > settled, "what else the autoscaler does")
    assert replicas(live, BUSY)[0] == kept > LEAST
    live.kubectl(*adapter, "--replicas=2")
    until(lambda: replicas(live, BUSY)[0] == LEAST, "it goes back when there are metrics again", 300)
    until(lambda: not told(live), "nothing more is told", 240)


def nodes(site: Rehearsed, kind: str) -> list[str]:
    found = site.kube.list("v1", "Node", label_selector=f"node.kubernetes.io/instance-type={kind}")
    return sorted(each["metadata"]["name"] for each in found)


def test_each_kind_of_failure_is_told_alone_and_in_time_and_healing_ends_it_v01(live: Rehearsed) -> None:
    """On several nodes at once, in three rounds; what breaks a pod of the run is last, since it starts the run anew."""
    training, serving, system = (nodes(live, each) for each in ("p5.4xlarge", "g6e.xlarge", "m7i.xlarge"))
    rounds = [
        dict(zip(("main-memory", "pcie", "gpu-memory", "gpu-driver"), [system[0], *serving], strict=False))
        | {"ib-link": training[0]},
        dict(zip(("filesystem-mount", "ethernet-link", "gpu-unavailable", "system-services"), serving, strict=False)),
        {"oom": serving[0], "nccl-timeout": training[0]},
    ]
    assert {*(kind for each in rounds for kind in each), "nvlink"} == set(faults.KINDS), "no node here has NVLink"
    for broken in rounds:
        _one_round(live, broken)


def _one_round(site: Rehearsed, broken: dict[str, str]) -> None:
    for kind, node in broken.items():
        site.order(ordering.fail, node=node, kind=kind, gpu=0, target=None)
    wanted = {OF_KIND[kind] for kind in broken}
    most = SCRAPE_S + 3 * EVALUATION_S + 30
    until(lambda: wanted <= {failure for failure, _ in told(site)}, f"told of {wanted}; {told(site)} was", most)
    own = {(OF_KIND[kind], node) for kind, node in broken.items()}
    stray = {each for each in told(site) if each not in own and each[0] not in wanted | KNOCK_ON}
    assert stray == set()
    for node in set(broken.values()):
        site.order(ordering.heal, node=node, kind=None)
    until(lambda: not told(site), f"nothing is told any more; {told(site)} was", 600)
