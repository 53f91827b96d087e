"""Environment, probes, restarts, statuses and addresses of pods."""

from collections.abc import Mapping
from typing import Any

import pytest

from rehearsal.kubelet import podstatus
from rehearsal.kubelet.addresses import Addresses, ExhaustedError
from rehearsal.kubelet.environment import ConfigError, expand, resolve
from rehearsal.kubelet.lifecycle import Container
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Program
from rehearsal.tests.inside.objects import Store, pod

NODE = {
    "metadata": {"labels": {"pool": "train"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "1"}},
}


def test_environment_of_fields_references_and_expansion() -> None:
    secret = {"kind": "Secret", "data": {"token": "aGVsbG8="}}
    container = {
        "env": [
            {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}},
            {"name": "BOTH", "value": "$(WHERE)-$(NOBODY)-$$(WHERE)"},
        ],
        "envFrom": [{"prefix": "C_", "configMapRef": {"name": "c"}}],
    }
    env = resolve(pod(), container, Store(secrets={"s": secret}, configmaps={"c": {"data": {"K": "v"}}}), NODE, {})
    assert env == {"C_K": "v", "WHERE": "ns", "TOKEN": "hello", "BOTH": "ns-$(NOBODY)-$(WHERE)"}


@pytest.mark.parametrize(
    ("stores", "text"),
    [
        ({}, 'secret "s" not found'),
        ({"secrets": {"s": {"kind": "Secret"}}}, "couldn't find key token in Secret ns/s"),
    ],
)
def test_missing_references_stop_the_container(stores: Any, text: str) -> None:
    container = {"env": [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}}]}
    with pytest.raises(ConfigError, match=text):
        resolve(pod(), container, Store(**stores), NODE, {})


def test_expansion_leaves_shell_variables_alone() -> None:
    assert expand("$HOME ${X} $(A)", {"A": "1"}) == "$HOME ${X} 1"


class Deaf(Program):
    """Answers no probe."""

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:  # noqa: ARG002
        return "connection refused"


class Slow(Deaf):
    """Listens, and does not answer in time."""

    time_scale = 1.0

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:  # noqa: ARG002
        return "Get http://:8081/healthz: timed out"


def container(**probes: Any) -> Container:
    return Container({"name": "main", "image": "a:1", **probes}, "main")


def test_a_container_without_probes_is_ready_at_once() -> None:
    made = container()
    made.begin(Program(), 0.0)
    assert made.look(0.0) is None
    assert made.ready


def test_a_startup_budget_that_runs_out_kills_and_restarts() -> None:
    made = container(startupProbe={"tcpSocket": {"port": 1}, "periodSeconds": 10, "failureThreshold": 3})
    made.begin(Deaf(), 0.0)
    doom = made.look(0.0)
    assert doom == pytest.approx(30 / TIME_SCALE)
    made.look(doom or 0.0)
    assert made.phase == "terminated"
    assert made.exit == Exit(137, reason="Error")
    assert [note.reason for note in made.notes] == ["Started", "Unhealthy", "Killing"]


def test_who_does_not_answer_is_waited_for_as_long_as_the_probe_says() -> None:
    """Karpenter's chart waits 30 seconds for each answer: a machine that is short of CPUs does not kill it."""
    made = container(livenessProbe={"tcpSocket": {"port": 1}, "initialDelaySeconds": 30, "timeoutSeconds": 30})
    made.begin(Slow(), 0.0)
    phases = []
    for second in (0.0, 119.0, 120.0):
        made.look(second)
        phases.append(made.phase)
    assert phases == ["running", "running", "terminated"]


def test_a_readiness_probe_alone_never_kills() -> None:
    made = container(readinessProbe={"tcpSocket": {"port": 1}})
    made.begin(Deaf(), 0.0)
    assert made.look(1000.0) is None
    assert made.phase == "running"
    assert not made.ready


def test_back_off_doubles_and_counts_restarts() -> None:
    made, now, waits = container(), 0.0, []
    for _ in range(4):
        made.begin(Ends(now, Exit(1)), now)
        restart = made.look(now)
        assert restart is not None
        waits.append(round((restart - now) * TIME_SCALE))
        made.crash_loop()
        assert made.state()["waiting"]["reason"] == "CrashLoopBackOff"
        now = restart
    assert waits == [0, 10, 20, 40]
    assert made.restarts == 3
    assert made.status()["lastState"]["terminated"]["exitCode"] == 1


def test_phases_follow_the_restart_policy() -> None:
    for policy, code, phase in (
        ("Never", 0, "Succeeded"),
        ("Never", 1, "Failed"),
        ("OnFailure", 1, "Running"),
        ("Always", 0, "Running"),
    ):
        made = container()
        made.begin(Ends(0.0, Exit(code)), 0.0)
        made.look(0.0)
        assert podstatus.phase(pod(restartPolicy=policy), [], [made]) == phase


@pytest.mark.parametrize(("code", "reason"), [(0, "PodCompleted"), (1, "PodFailed")])
def test_a_pod_that_is_over_is_unready_for_that_reason_alone(code: int, reason: str) -> None:
    """Kubernetes, pkg/kubelet/status/generate.go, generateContainersReadyConditionForTerminalPhase."""
    made = container()
    made.begin(Ends(0.0, Exit(code)), 0.0)
    made.look(0.0)
    status = podstatus.status(pod(restartPolicy="Never"), [], [made], "10.0.0.9", "10.0.0.5", "t")
    told = {each["type"]: each for each in status["conditions"]}
    for kind in ("ContainersReady", "Ready"):
        assert (told[kind]["status"], told[kind]["reason"], told[kind].get("message")) == ("False", reason, None)


def test_an_unfinished_init_container_keeps_the_pod_pending() -> None:
    init = Container({"name": "i", "image": "a:1"}, "init")
    init.begin(Program(), 0.0)
    status = podstatus.status(pod(), [init], [container()], "10.0.0.9", "10.0.0.5", "t")
    assert status["phase"] == "Pending"
    assert next(c for c in status["conditions"] if c["type"] == "Initialized")["status"] == "False"


@pytest.mark.parametrize(("inits", "initialised"), [((), True), (("prepare",), False)])
def test_a_pod_that_waits_for_its_volumes_has_all_conditions(inits: tuple[str, ...], initialised: bool) -> None:
    """Nothing began yet: the kubelet says so of sandbox, init containers and containers, each with its reason."""
    waiting = [Container({"name": each, "image": "a:1"}, "init") for each in inits]
    scheduled = {"type": "PodScheduled", "status": "True"}
    seen = {**pod(), "status": {"conditions": [scheduled]}}
    status = podstatus.status(seen, waiting, [container()], None, "10.0.0.5", "t")
    told = {each["type"]: (each["status"], each.get("reason"), each.get("message")) for each in status["conditions"]}
    unready = ("False", "ContainersNotReady", "containers with unready status: [main]")
    unprepared = ("False", "ContainersNotInitialized", "containers with incomplete status: [prepare]")
    assert told == {
        "PodScheduled": ("True", None, None),
        "PodReadyToStartContainers": ("False", None, None),
        "Initialized": ("True", None, None) if initialised else unprepared,
        "ContainersReady": unready,
        "Ready": unready,
    }
    assert "podIP" not in status


def test_a_pod_once_initialised_stays_so_when_a_sidecar_restarts() -> None:
    sidecar, main = Container({"name": "s", "image": "a:1"}, "sidecar"), container()
    main.begin(Program(), 0.0)
    status = podstatus.status(pod(), [sidecar], [main], "10.0.0.9", "10.0.0.5", "t")
    assert {each["type"]: each["status"] for each in status["conditions"]}["Initialized"] == "True"


def test_a_pod_that_the_kubelet_refuses_says_so() -> None:
    status = podstatus.failed(pod(), "OutOfcpu", "Node didn't have enough resource: cpu")
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == "Pod was rejected: Node didn't have enough resource: cpu"


def test_conditions_of_others_are_kept() -> None:
    scheduled = {"type": "PodScheduled", "status": "True"}
    made = container()
    made.begin(Program(), 0.0)
    made.look(0.0)
    status = podstatus.status({**pod(), "status": {"conditions": [scheduled]}}, [], [made], "ip", "host", "t")
    assert scheduled in status["conditions"]
    assert {c["type"]: c["status"] for c in status["conditions"]}["Ready"] == "True"


def test_addresses_are_given_once_and_run_out() -> None:
    addresses = Addresses()
    given = {addresses.take(str(n), "10.0.0.0/28", ["10.0.0.14"]) for n in range(10)}
    assert len(given) == 10
    assert "10.0.0.14" not in given
    assert addresses.take("3", "10.0.0.0/28") in given
    with pytest.raises(ExhaustedError, match="no free address"):
        addresses.take("more", "10.0.0.0/28", ["10.0.0.14"])
    addresses.give_back("3")
    addresses.take("more", "10.0.0.0/28", ["10.0.0.14"])


def test_a_node_has_so_many_addresses_lf10() -> None:
    """LF10: what is beyond its interfaces waits for a pod to go, however large the subnet is."""
    addresses = Addresses()
    addresses.hold("old", "10.0.0.9", "node")
    addresses.take("one", "10.0.0.0/24", (), "node", 2)
    addresses.take("else", "10.0.0.0/24", (), "other", 2)
    with pytest.raises(ExhaustedError, match="failed to assign an IP address to container: the 2 addresses of node"):
        addresses.take("two", "10.0.0.0/24", (), "node", 2)
    addresses.give_back("old")
    addresses.take("two", "10.0.0.0/24", (), "node", 2)
