"""NW08: what pods need gets through, and nothing else does: by the policies as they are registered."""

import json
from copy import deepcopy
from ipaddress import IPv4Address, IPv4Network

import pytest

from components.platform.network_rules import NOT_THE_INTERNET, internet
from components.platform.taints import GATE_KEY
from policy.graph import Graph
from stacks.network import CALLER_KEY
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks.connections import Connection, End, Network, each_of, matches

DNS = End(namespace="kube-system", labels={"k8s-app": "kube-dns"})
STRANGER = End(namespace="somebody", labels={"app": "shell"})
API, CONTROL_PLANE = End(address="172.20.0.1"), End(address="10.64.2.17")
IDENTITY, METADATA = End(address="169.254.170.23"), End(address="169.254.169.254")
S3, NODE = End(address="52.219.96.10"), End(address="10.64.130.7")
PROMETHEUS = End(namespace="monitoring", labels={"app.kubernetes.io/name": "prometheus"})
DCGM = End(namespace="gpu-operator", labels={"app": "nvidia-dcgm-exporter"})
VOLCANO = End(namespace="volcano-system", labels={"app": "volcano-admission"})
OURS = ("training", "inference", "gpu-operator", "volcano-system", "kubeflow", "monitoring")


def graph(stack: str) -> Graph:
    config = stack_config(stack)
    sealed = {key for key, value in config.items() if isinstance(value, dict) and "secure" in value}
    return run_program({key: config[key] for key in config.keys() - sealed}, stack=stack)


@pytest.fixture(scope="module")
def dev() -> Network:
    return Network(graph("dev"))


WATCH = "run-watch-deployment"
RUN, SERVER = "run-llama-3-8b-sft-job", "service-llama-3-8b-deployment"
CONNECTIONS: tuple[Connection, ...] = (
    ("a gang's ranks among themselves", RUN, RUN, 23456, True),
    ("a run saves", RUN, S3, 443, True),
    ("a run gets its role", RUN, IDENTITY, 80, True),
    ("a run's metrics", PROMETHEUS, RUN, 9464, True),
    ("a run is asked for its step", WATCH, RUN, 9464, True),
    ("what watches runs asks the API", WATCH, API, 443, True),
    ("a dataset is copied", "dataset-instructions-copy", S3, 443, True),
    ("its copier gets its role", "dataset-instructions-copy", IDENTITY, 80, True),
    ("weights are copied", "weights-llama-3-8b-copy", S3, 443, True),
    ("their copier gets its role", "weights-llama-3-8b-copy", IDENTITY, 80, True),
    ("the smoke test asks", "smoke-llama-3-8b-request", SERVER, 8000, True),
    ("a server's metrics", PROMETHEUS, SERVER, 8000, True),
    ("Volcano's webhook is asked", CONTROL_PLANE, VOLCANO, 8443, True),
    ("Volcano asks the API", VOLCANO, API, 443, True),
    ("the operator asks the API", "training-operator-deployment", API, 443, True),
    ("the operator's webhook is asked", CONTROL_PLANE, "training-operator-deployment", 9443, True),
    ("the operator's metrics", PROMETHEUS, "training-operator-deployment", 8080, True),
    ("definitions are fetched", "training-operator-crds-apply-first", End(address="185.199.108.133"), 443, True),
    ("definitions are applied", "training-operator-crds-apply-first", API, 443, True),
    ("GPUs are counted", "gpu-checks-training-count", API, 443, True),
    ("the gang scheduler is waited for", "gang-admission-wait", API, 443, True),
    ("DCGM's metrics", PROMETHEUS, DCGM, 9400, True),
    ("kubelets' metrics", PROMETHEUS, NODE, 10250, True),
    ("Prometheus finds its targets", PROMETHEUS, CONTROL_PLANE, 443, True),
    ("the adapter is asked", CONTROL_PLANE, PROMETHEUS, 6443, True),
    ("alerts go out", PROMETHEUS, End(address="3.33.255.1"), 443, True),
    ("a run asks the API", RUN, API, 443, False),
    ("a run asks the API's interfaces", RUN, CONTROL_PLANE, 443, False),
    ("a run asks a node", RUN, NODE, 10250, False),
    ("a run asks a server", RUN, SERVER, 8000, False),
    ("a run asks the metrics of GPUs", RUN, DCGM, 9400, False),
    ("a run speaks plain HTTP", RUN, S3, 80, False),
    ("a server goes out", SERVER, S3, 443, False),
    ("a server asks for a role", SERVER, IDENTITY, 80, False),
    ("a server asks a run", SERVER, RUN, 23456, False),
    ("the operator goes out", "training-operator-deployment", S3, 443, False),
    ("a GPU check goes out", "gpu-checks-training-smoke", S3, 443, False),
    ("somebody on the Internet asks a server", S3, SERVER, 8000, False),
    ("a node's address asks a run", NODE, RUN, 23456, False),
    ("a run asks what watches it", RUN, WATCH, 9464, False),
    ("what watches runs asks a server", WATCH, SERVER, 8000, False),
    ("who may ask the API asks another port of it", WATCH, API, 80, False),
    ("who may ask its interfaces asks another port of them", WATCH, CONTROL_PLANE, 80, False),
    ("who may have a role asks another port for it", RUN, IDENTITY, 443, False),
    ("another run", RUN, End(namespace="training", labels={"gpucluster/run": "other"}), 23456, False),
)


@each_of(CONNECTIONS)
def test_what_is_needed_gets_through_and_nothing_else(
    dev: Network, source: str | End, target: str | End, port: int, passes: bool
) -> None:
    """NW08: names, the gang at any port, storage by its address; NW09: what the documents say a pod reaches."""
    assert dev.passes(source, target, port) is passes


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_every_pod_resolves_names_and_speaks_with_no_stranger(dev: Network, protocol: str) -> None:
    """But for those of kube-system, which has no rules: they are the cluster's own, and trusted as it is."""
    ruled = {name: pod for name, pod in dev.ends.items() if pod.namespace != "kube-system"}
    assert len(ruled) > 10
    for name, pod in ruled.items():
        assert dev.passes(pod, DNS, 53, protocol), name
        assert not dev.passes(STRANGER, pod, 8000, protocol), name
        assert not dev.passes(pod, STRANGER, 8000, protocol), name
        assert not dev.passes(pod, METADATA, 80, protocol), name


def test_a_namespace_that_is_labelled_as_a_caller_asks_servers_and_nothing_else() -> None:
    network = Network(graph("dev"))
    network.label("apps", **{CALLER_KEY: "true"})
    app = End(namespace="apps", labels={})
    assert network.passes(app, SERVER, 8000)
    assert not network.passes(app, RUN, 8000)


@pytest.fixture(scope="module")
def gated() -> Network:
    """The dev stack, whose training pool is measured before runs come."""
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][1] |= {"instanceType": "p5.48xlarge"}
    config["gpucluster:budget"] = {"maxHourlyUsd": 900}
    config["gpucluster:training"]["gates"] = {"minutes": 20, "storageMib": 1111, "weekly": True}
    return Network(run_program(config, stack="dev"))


GATE, NEWCOMERS = "gate-training-job", "gate-training-newcomers"


def test_gates_meet_tell_the_api_and_speak_with_nobody_else(gated: Network) -> None:
    """P16: those that measure a pool among themselves; a newcomer is alone; both say what they found."""
    own, alone, run = GATE, NEWCOMERS, RUN
    assert gated.passes(own, own, 29400)
    assert gated.passes(own, own, 40001)
    for gate in (own, "gate-training-weekly", alone):
        assert gated.passes(gate, API, 443)
        assert gated.passes(gate, CONTROL_PLANE, 443)
        assert gated.passes(gate, DNS, 53, "UDP")
        for stranger in (STRANGER, run, DCGM, METADATA):
            assert not gated.passes(gate, stranger, 29400)
            assert not gated.passes(stranger, gate, 29400)
    assert not gated.passes(alone, own, 29400)
    assert not gated.passes(alone, alone, 29400)
    assert not gated.passes(own, End(namespace="training", labels={GATE_KEY: "other"}), 29400)
    assert not gated.passes(run, API, 443)


def test_where_nothing_is_measured_no_rule_speaks_of_it() -> None:
    config = deepcopy(stack_config("dev"))
    del config["gpucluster:training"]["gates"]
    made = run_program(config, stack="dev")
    assert not [each.name for each in made.of_type("NetworkPolicy") if "gate" in each.name]


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_every_namespace_of_ours_denies_both_ways_by_default(stack: str) -> None:
    made = graph(stack)
    network = Network(made)
    assert {each.inputs["metadata"]["name"] for each in made.of_type("Namespace")} == set(OURS)
    for name in OURS:
        assert network.isolated(End(namespace=name, labels={"new": "pod"})) == {"Ingress", "Egress"}


def test_the_agent_that_enforces_them_is_on() -> None:
    """EKS user guide: VPC CNI's agent is off by default, and policies mean nothing then."""
    (addon,) = [each for each in graph("dev").of_type("Addon") if each.inputs["addonName"] == "vpc-cni"]
    assert json.loads(addon.inputs["configurationValues"]) == {"enableNetworkPolicy": "true"}


def test_the_internet_is_every_address_but_those_of_sites_links_and_groups() -> None:
    """Written out, as not every agent heeds `except`."""
    networks = [IPv4Network(each) for each in internet().cidrs]
    taken = [IPv4Network(each) for each in NOT_THE_INTERNET]
    assert sum(each.num_addresses for each in networks) + sum(each.num_addresses for each in taken) == 2**32
    assert not any(each.overlaps(one) for each in networks for one in taken)
    assert any(IPv4Address(str(S3.address)) in each for each in networks)


@pytest.mark.parametrize(
    ("operator", "values", "taken"),
    [("Exists", [], "ab"), ("DoesNotExist", [], "c"), ("In", ["1"], "a"), ("NotIn", ["1"], "bc")],
)
def test_the_evaluator_selects_as_kubernetes_does(operator: str, values: list[str], taken: str) -> None:
    pods = {"a": {"x": "1"}, "b": {"x": "2"}, "c": {}}
    selector = {"matchExpressions": [{"key": "x", "operator": operator, "values": values}]}
    assert "".join(name for name, labels in pods.items() if matches(selector, labels)) == taken
