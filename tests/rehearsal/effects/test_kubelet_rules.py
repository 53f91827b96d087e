"""The kubelet's own decisions: admission, volumes, environment, probes, restarts, status."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from rehearsal.effects import admission, lustre, podstatus, quantities, volumes
from rehearsal.effects.addresses import Addresses, ExhaustedError
from rehearsal.effects.environment import ConfigError, expand, resolve
from rehearsal.effects.lifecycle import Container
from rehearsal.effects.network import End
from rehearsal.effects.program import TIME_SCALE, Ends, Exit, Mount, Program
from tests.rehearsal.effects import facts

NODE = {
    "metadata": {"labels": {"pool": "train"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "1"}},
}


def pod(**spec: Any) -> dict[str, Any]:
    containers = spec.pop("containers", [{"name": "main", "image": "a:1"}])
    return {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"containers": containers, **spec}}


def asking(**requests: str) -> dict[str, Any]:
    named = {key.replace("gpu", "nvidia.com/gpu"): value for key, value in requests.items()}
    return pod(containers=[{"name": "main", "image": "a:1", "resources": {"requests": named}}])


@pytest.mark.parametrize(("text", "value"), [("500m", Fraction(1, 2)), ("2Gi", 2**31), ("1e3", 1000), (8, 8)])
def test_quantities(text: str | int, value: Fraction | int) -> None:
    assert quantities.parse(text) == value


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="7GiB"):
        quantities.parse("7GiB")


def test_a_pod_that_fits_is_admitted() -> None:
    assert admission.refusal(asking(cpu="3", gpu="1"), NODE, []) is None


def test_cpu_beyond_what_others_left_is_out_of_cpu() -> None:
    refusal = admission.refusal(asking(cpu="3"), NODE, [admission.requests(asking(cpu="2"))])
    assert refusal is not None
    assert refusal.reason == "OutOfcpu"
    assert "requested: 3000, used: 2000, capacity: 4000" in refusal.message


def test_a_taken_device_is_an_unexpected_admission_error() -> None:
    refusal = admission.refusal(asking(gpu="1"), NODE, [admission.requests(asking(gpu="1"))])
    assert refusal is not None
    assert refusal.reason == "UnexpectedAdmissionError"
    assert "Requested: 1, Available: 0" in refusal.message


def test_a_device_the_node_never_had_is_refused() -> None:
    assert admission.refusal(asking(**{"vpc.amazonaws.com/efa": "1"}), NODE, []) is not None


def test_a_full_node_takes_no_more_pods() -> None:
    refusal = admission.refusal(pod(), NODE, [admission.requests(pod())] * 10)
    assert refusal is not None
    assert refusal.reason == "OutOfpods"


def test_init_containers_count_by_the_largest_and_sidecars_add_up() -> None:
    big = {"name": "i", "resources": {"requests": {"cpu": "3"}}}
    side = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    main = {"name": "m", "resources": {"requests": {"cpu": "1"}}}
    assert admission.requests(pod(initContainers=[big], containers=[main]))["cpu"] == 3
    assert admission.requests(pod(initContainers=[side, big], containers=[main]))["cpu"] == 3
    assert admission.requests(pod(initContainers=[side], containers=[main, main]))["cpu"] == 3


def test_a_pod_named_onto_a_node_must_still_match_it() -> None:
    refusal = admission.refusal(pod(nodeSelector={"pool": "other"}), NODE, [])
    assert refusal is not None
    assert refusal.reason == "NodeAffinity"


# -- volumes


class Store:
    """Objects by (store, namespace or "", name)."""

    def __init__(self, **stores: Mapping[str, Any]) -> None:
        self._stores = stores

    def __call__(self, store: str, name: str, namespace: str | None) -> Any:  # noqa: ARG002
        return self._stores.get(store, {}).get(name)


def on_claim(name: str) -> dict[str, Any]:
    return pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])


LUSTRE = {"metadata": {"name": "pv"}, "spec": {"csi": {"driver": "fsx.csi.aws.com", "volumeHandle": "fs-1"}}}
BOUND = {"status": {"phase": "Bound"}, "spec": {"volumeName": "pv"}}
REGISTERED = {"node": {"spec": {"drivers": [{"name": "fsx.csi.aws.com"}]}}}


def said(pod: dict[str, Any], find: Store, mountable: str | None = None) -> list[str]:
    return [each.message for each in volumes.problems(pod, "node", find, lambda _: mountable)]


def test_everything_there_is_no_problem() -> None:
    find = Store(claims={"c": BOUND}, volumes={"pv": LUSTRE}, csinodes=REGISTERED)
    assert said(on_claim("c"), find) == []


def test_missing_secret_and_configmap_are_named() -> None:
    both = pod(volumes=[{"name": "s", "secret": {"secretName": "x"}}, {"name": "c", "configMap": {"name": "y"}}])
    first, second = said(both, Store())
    assert 'secret "x" not found' in first
    assert 'configmap "y" not found' in second


def test_optional_sources_may_be_missing_but_keys_may_not() -> None:
    optional = pod(volumes=[{"name": "s", "secret": {"secretName": "x", "optional": True}}])
    assert said(optional, Store()) == []
    keyed = pod(volumes=[{"name": "c", "configMap": {"name": "y", "items": [{"key": "k", "path": "k"}]}}])
    assert "non-existent configmap key: k" in said(keyed, Store(configmaps={"y": {"data": {}}}))[0]


def test_unbound_and_absent_claims() -> None:
    assert "not found" in said(on_claim("c"), Store())[0]
    assert "not bound" in said(on_claim("c"), Store(claims={"c": {"status": {"phase": "Pending"}}}))[0]


def test_a_driver_that_is_not_registered_on_the_node() -> None:
    find = Store(claims={"c": BOUND}, volumes={"pv": LUSTRE}, csinodes={"node": {"spec": {"drivers": []}}})
    assert "driver name fsx.csi.aws.com not found in the list of registered CSI drivers" in said(on_claim("c"), find)[0]


def test_what_the_file_system_says_is_passed_on() -> None:
    find = Store(claims={"c": BOUND}, volumes={"pv": LUSTRE}, csinodes=REGISTERED)
    assert said(on_claim("c"), find, "connection timed out") == [
        'MountVolume.SetUp failed for volume "pv" : connection timed out'
    ]


def test_two_volumes_of_one_file_system_have_the_same_contents() -> None:
    other = {"metadata": {"name": "pv2"}, "spec": LUSTRE["spec"]}
    assert volumes.volume_key(LUSTRE) == volumes.volume_key(other)


def test_mounts_know_what_lies_inside_them() -> None:
    mount = Mount("/models", "v", sub_path="weights")
    assert mount.inside("/models/llama") == "weights/llama"
    assert mount.inside("/modelsx") is None


# -- Lustre

SYSTEM = {
    "FileSystemId": "fs-1",
    "Lifecycle": "AVAILABLE",
    "VpcId": "vpc-1",
    "DNSName": "fs-1.fsx",
    "LustreConfiguration": {"MountName": "abcd"},
}
CSI = {"volumeHandle": "fs-1", "volumeAttributes": {"dnsname": "fs-1.fsx", "mountname": "abcd"}}
NODE_END = End((facts.CLUSTER_GROUP,), ("10.0.0.5",))
SERVERS = End((facts.CLUSTER_GROUP,), ("10.0.0.9",))


def mount(csi: Mapping[str, Any] = CSI, servers: End = SERVERS, vpc: str = "vpc-1", **change: Any) -> str | None:
    return lustre.mount_problem(csi, [{**SYSTEM, **change}], NODE_END, vpc, servers, facts.GROUPS)


def test_a_file_system_in_reach_is_mounted() -> None:
    assert mount() is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"csi": {**CSI, "volumeAttributes": {"dnsname": "fs-2.fsx", "mountname": "abcd"}}}, "NID"),
        ({"csi": {**CSI, "volumeAttributes": {"dnsname": "fs-1.fsx", "mountname": "fsx"}}}, "abcd"),
        ({"Lifecycle": "CREATING"}, "CREATING"),
        ({"vpc": "vpc-2"}, "timed out"),
        ({"servers": End((facts.OWN_GROUP,), ("10.0.0.9",))}, "988"),
    ],
)
def test_each_mount_rule(arguments: dict[str, Any], text: str) -> None:
    assert text in (mount(**arguments) or "")


# -- environment


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


# -- containers


class Deaf(Program):
    """Answers no probe."""

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:  # noqa: ARG002
        return "connection refused"


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


def test_an_unfinished_init_container_keeps_the_pod_pending() -> None:
    init = Container({"name": "i", "image": "a:1"}, "init")
    init.begin(Program(), 0.0)
    status = podstatus.status(pod(), [init], [container()], "10.0.0.9", "10.0.0.5", "t")
    assert status["phase"] == "Pending"
    assert next(c for c in status["conditions"] if c["type"] == "Initialized")["status"] == "False"


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
