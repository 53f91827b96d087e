"""What `make fail` does to nodes, as their exporters show it, judged by the stack's own rules in a real Prometheus.

Every node suffers one kind of failure, all at once; each fires the alert of its symptom and no other, and none is left
when they are healed (V01 to V12, X02). What a kind does to pods - killed for memory, given up by the watchdog - needs a
cluster: tests/scale. Time passes faster here: a scrape and an evaluation are a fifteenth of the stack's 30 s, and so is
every span of the rules.
"""

import contextlib
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitoring.counters import dcgm_csv
from monitoring.failures import failures
from monitoring.limits import Limits, PoolLimits
from monitoring.rules import alert_groups, recording_groups
from rehearsal.cluster.pages import texts
from rehearsal.command.ordering import broken
from rehearsal.devices import dcgm_exporter
from rehearsal.images import node_exporter
from rehearsal.kubelet import faults, orders
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.exposition import Family, family, text
from rehearsal.kubelet.program import Launch, Mount
from rehearsal.processes import Process
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.simulated import GPU, Node
from tests.monitoring.cases import INJECTED, MEASURED

from .prometheus import Asked, prometheus

pytestmark = pytest.mark.engine

FASTER, LOOK_S = 15, 2
POOL, GPUS, CARDS = "training", 8, 4
LIST = "/etc/dcgm-exporter/dcgm-metrics.csv"
EFA = "vpc.amazonaws.com/efa"
IN_PODS = {"oom", "nccl-timeout"}
ALERTS = {kind: failure for kind, failure in INJECTED.items() if kind not in IN_PODS}
_SPAN = re.compile(r"(?<=\[)(\d+)([smhdw])(?=\])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Machine(Node):
    """A node that suffers one kind of failure, with both exporters and what kube-state-metrics says of it."""

    def __init__(self, directory: Path, kind: str) -> None:
        super().__init__(directory, "p5.48xlarge", node=kind, instance_id=f"i-{kind}", efa_interfaces=CARDS)
        self.kind = kind
        self.node["metadata"]["labels"] = {
            "nvidia.com/gpu.count": str(GPUS),
            "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        }
        self.node["status"]["capacity"] |= {GPU: str(GPUS), EFA: str(CARDS)}
        dcgm_exporter.run(self._listed(self.pod("dcgm-0")))
        node_exporter.run(self.launch(self.pod("node-0"), args=("--collector.systemd",)))
        Answering(self.launch(self.pod("state-0")), {8080: texts({"/metrics": lambda: text(self._state())})})

    def _listed(self, pod: dict[str, Any]) -> Launch:
        """The exporter with the stack's own list of counters, as the operator mounts it."""
        pod["spec"]["volumes"] = [{"name": "list", "configMap": {"name": "counters"}}]
        self.objects["configmaps", "counters"] = {"data": {"dcgm-metrics.csv": dcgm_csv()}}
        mount = Mount(LIST, "pod:dcgm:list", "dcgm-metrics.csv", name="list")
        image = {"name": "e", "image": "dcgm-exporter:4.5.3-4.8.2"}
        return self.launch(pod, spec=image, env={dcgm_exporter.COLLECTORS: LIST}, mounts=(mount,))

    def _state(self) -> Iterable[Family]:
        """The node as the API server has it: labels, devices as the plugins offer them, conditions."""
        suffered = self.world.orders.now().of(self.kind)
        bad = {*faults.conditions(suffered), *(["Ready"] if faults.lasting(suffered, "system-services") else [])}
        left = GPUS - len(faults.unhealthy(suffered))
        of = {"node": self.kind}
        yield family("kube_node_labels", "gauge", "", ({**of, "label_gpucluster_pool": POOL}, 1))
        yield family(
            "kube_node_status_condition",
            "gauge",
            "",
            *(
                ({**of, "condition": name, "status": status}, float((name in bad) == (status == "false")))
                for name in ("Ready", "KernelReady", "ContainerRuntimeReady", "NetworkingReady", "StorageReady")
                for status in ("true", "false")
            ),
        )
        devices = {"nvidia_com_gpu": (GPUS, left), "vpc_amazonaws_com_efa": (CARDS, CARDS)}
        for index, what in enumerate(("capacity", "allocatable")):
            rows = [({**of, "resource": name}, float(counts[index])) for name, counts in devices.items()]
            yield family(f"kube_node_status_{what}", "gauge", "", *rows)

    def suffer(self) -> None:
        """What `make fail` writes for this kind."""
        fault = broken(self.node, self.kind, 0, "", time.time())
        orders.change(self.file, lambda before: orders.broken(before, fault))

    def targets(self) -> Iterator[dict[str, Any]]:
        for job, port in (("dcgm-0", 9400), ("node-0", 9100), ("state-0", 8080)):
            address = self.world.backends.find("ns", job, port)
            assert address is not None
            yield {"targets": [f"{address[0]}:{address[1]}"], "labels": {"node": self.kind, "job": job}}


def faster(rule: Mapping[str, Any]) -> dict[str, Any]:
    """A rule whose spans are a fifteenth as long."""

    def shorter(found: re.Match[str]) -> str:
        return f"{int(found[1]) * _SECONDS[found[2]] * 1000 // FASTER}ms"

    held = {"for": re.sub(r"^(\d+)([smhd])$", shorter, rule["for"])} if "for" in rule else {}
    return {**rule, "expr": _SPAN.sub(shorter, rule["expr"]), **held}


def rules(limits: Limits) -> list[dict[str, Any]]:
    """The stack's groups, each evaluated as often as the others."""
    every = [*recording_groups(limits), *alert_groups(limits, "https://example.com/runbooks")]
    return [{**each, "interval": f"{LOOK_S}s", "rules": list(map(faster, each["rules"]))} for each in every]


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[dict[str, Machine]]:
    made = {kind: Machine(tmp_path / kind, kind) for kind in ALERTS}
    yield made
    for each in made.values():
        each.world.backends.close()


@contextlib.contextmanager
def watched(tmp_path: Path, limits: Limits, targets: list[dict[str, Any]]) -> Iterator[tuple[Asked, Process]]:
    """Asks a Prometheus that watches the targets, by the stack's rules."""
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": rules(limits)}))
    config = {
        "global": {"scrape_interval": f"{LOOK_S}s", "scrape_timeout": f"{LOOK_S}s"},
        "rule_files": [str(tmp_path / "rules.yml")],
        "scrape_configs": [{"job_name": "all", "static_configs": targets}],
    }
    with prometheus(tmp_path, config) as asks:
        yield asks


@pytest.fixture
def asked(machines: dict[str, Machine], tmp_path: Path) -> Iterator[Asked]:
    """Asks the Prometheus that watches them."""
    targets = [target for each in machines.values() for target in each.targets()]
    limits = Limits(pools=(PoolLimits(name=POOL, gpus_per_node=GPUS),))
    with watched(tmp_path, limits, targets) as (ask, process):
        until(
            lambda: len(ask("up == 1")) == len(targets) and len(ask("gpucluster:node:ethernet_up")) >= len(machines),
            60,
            f"all are scraped and rules evaluated:\n{process.last_words()}",
        )
        yield ask


def firing(asked: Asked) -> set[tuple[str, str]]:
    """Failures that fire, and on which node."""
    found = asked('ALERTS{alertstate="firing"}')
    return {(labels["failure"], labels.get("node", "")) for labels, _ in found}


def test_every_kind_of_failure_is_looked_at_here_or_in_a_cluster() -> None:
    assert {*ALERTS, *IN_PODS} == set(faults.KINDS) - MEASURED
    assert set(ALERTS.values()) <= {each.id for each in failures()}


def test_each_failure_fires_its_alert_alone_and_in_time_and_healing_ends_it_v01(
    machines: dict[str, Machine], asked: Asked
) -> None:
    """Within two evaluations after the first that could know, which is at most one after the scrape that showed it."""
    wanted = {(alert, kind) for kind, alert in ALERTS.items()}
    assert firing(asked) == set()
    broke = time.time()
    for each in machines.values():
        each.suffer()
    with contextlib.suppress(AssertionError):
        until(lambda: firing(asked) >= wanted, 45, "each fires")
    assert firing(asked) == wanted
    late = {
        labels["failure"]: round(value - broke, 1)
        for labels, value in asked('min_over_time(timestamp(ALERTS{alertstate="firing"})[5m:1s])')
        if value - broke > LOOK_S * 4 + 1
    }
    assert late == {}, "seconds after which they fired; a scrape, an evaluation and two more are 8"
    time_to_settle = time.time() + 3 * LOOK_S
    until(lambda: time.time() > time_to_settle, 30, "what else might fire")
    assert firing(asked) == wanted
    for each in machines.values():
        each.heal(time.time())
    with contextlib.suppress(AssertionError):
        until(lambda: not firing(asked), 60, "none is left")
    assert firing(asked) == set()
