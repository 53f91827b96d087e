"""NW08: with whom pods of each namespace speak, as sentences: of a stack with everything, and what less of it changes.

The rules are asked for directly, with an address of its own for each place, so that a swapped one shows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.platform.network_rules import DENY, NAMES, Flow, Pods, Reach, Rule, internet
from planner.mlops import MlflowPlan, TrackingPlan, WandbPlan
from planner.serving.gateway import AcmePlan, GatewayPlan, PagePlan, PeoplePlan
from stacks.network import network_rules, team_rules
from stacks.platform import Connections

WRITTEN: dict[str, dict[str, dict[str, str | list[str]]]] = yaml.safe_load(
    Path(__file__).with_name("who-speaks.yaml").read_text(encoding="utf-8")
)
PLACES = {
    "the API server": Reach(cidrs=["192.0.2.1/32"], ports=[443, 6443]),
    "nodes": Reach(cidrs=["192.0.2.2/32"]),
    "the object store": Reach(cidrs=["192.0.2.3/32"], ports=[9000]),
    "the keeper of rights": Reach(cidrs=["192.0.2.4/32"], ports=[80]),
    "callers' networks": Reach(cidrs=["192.0.2.5/32"]),
    "the platform's services": Reach(cidrs=["192.0.2.6/32"], ports=[8443]),
    "the issuer's networks": Reach(cidrs=["192.0.2.7/32"]),
    "the Internet": internet(),
    "every address": Reach(cidrs=["0.0.0.0/0"]),
}


def who(peer: Pods | Reach) -> str:
    """A place by its name, or pods by labels and namespace."""
    if isinstance(peer, Reach):
        return next(name for name, known in PLACES.items() if tuple(known.cidrs) == tuple(peer.cidrs))
    marks = [f"{key}={value}" for key, value in peer.labels.items()]
    marks += [f"with {peer.having}"] if peer.having else []
    spaces = [f"{key}={value}" for key, value in peer.namespace_labels.items()]
    where = "of any namespace" if peer.namespace is None else f"of {peer.namespace}" if peer.namespace else ""
    words = ["pods", *marks, where, *(["with", *spaces] if spaces else [])]
    return " ".join(each for each in words if each)


def sentence(flow: Flow) -> str:
    """A, B and C at ports."""
    ports = " ".join(map(str, flow.ports))
    at = f" at {ports}" if ports else ""
    return f"{', '.join(map(who, flow.peers))}{at}{' by UDP, too' if flow.udp else ''}"


def told(rule: Rule) -> dict[str, str | list[str]]:
    """What a rule says: about whom, who comes in, who is gone out to; nothing of a direction that it leaves alone."""
    ways = {"in": rule.ingress, "out": rule.egress}
    found = {way: _one_or_more(list(map(sentence, flows))) for way, flows in ways.items() if flows is not None}
    return found if rule.pods == Pods() else {"of": who(rule.pods), **found}


def _one_or_more(sentences: list[str]) -> str | list[str]:
    return sentences if len(sentences) > 1 else sentences[0] if sentences else "nobody"


def table(rules: Mapping[str, Sequence[Rule]]) -> dict[str, dict[str, str | list[str]]]:
    """NAMESPACE/RULE and what it says, but for the two that are everywhere."""
    pairs = [
        (f"{namespace}/{rule.name}", told(rule))
        for namespace, some in rules.items()
        for rule in some
        if rule not in (DENY, NAMES)
    ]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def known(*, platform: bool = True, callers: bool = True) -> Connections:
    """Connections, each to a place of its own; without `platform` nothing keeps rights, and it has no services."""
    return Connections(
        api=PLACES["the API server"],
        nodes=PLACES["nodes"],
        objects=PLACES["the object store"],
        identity=PLACES["the keeper of rights"] if platform else None,
        callers=PLACES["callers' networks"] if callers else None,
        services=PLACES["the platform's services"] if platform else None,
    )


def gateway(acme: AcmePlan | None, networks: tuple[str, ...] = (), callers: tuple[str, ...] = ()) -> GatewayPlan:
    """A gateway with each page, Grafana's under two names."""
    names = {"grafana": "grafana", "boards": "grafana", "mlflow": "mlflow", "pipelines": "pipelines"}
    pages = [
        PagePlan(name=name, page=page, hostname=f"{name}.example.com", groups=("ml",), role=None)
        for name, page in names.items()
    ]
    people = PeoplePlan(
        issuer="https://login.example.com:8444",
        issuer_port=8444,
        issuer_networks=networks,
        client_id="gpucluster",
        groups_claim="groups",
        scopes=(),
        secret="clientSecret",
        session_secret="sessionSecret",
        session_seconds=3600,
        pages=tuple(pages),
        callers=callers,
    )
    return GatewayPlan(
        domain="example.com",
        internet=True,
        callers=(),
        acme=acme,
        replicas=2,
        most_replicas=2,
        leave_seconds=1,
        drain_seconds=1,
        routes=(),
        people=people,
    )


ACME = AcmePlan(server="https://acme.example.com", email="ops@example.com", zone="Z1")
MLFLOW = TrackingPlan(kind="mlflow", secret="trackerPassword", mlflow=MlflowPlan(gib=1, backup_hours=None))
WANDB = TrackingPlan(
    kind="wandb", secret="wandbKey", wandb=WandbPlan(host="https://wandb.example.com", entity=None, project=None)
)
EVERYTHING: dict[str, Any] = {
    "known": known(),
    "mail": (465, 587),
    "gates": ("big", "small"),
    "gateway": gateway(ACME, networks=("192.0.2.7/32",), callers=("ml",)),
    "trials": ("training",),
    "tracking": MLFLOW,
    "outside": True,
    "to_zero": True,
    "pipelines": ["pipelines"],
    "registry": 5000,
}
LESS: dict[str, dict[str, Any]] = {
    "where the platform has neither rights nor services for pods": {"known": known(platform=False)},
    "where nobody calls from outside of the cluster": {"known": known(callers=False)},
    "where the authority asks hostnames": {
        "gateway": gateway(AcmePlan(server="", email=""), ("192.0.2.7/32",), ("ml",))
    },
    "where the stack signs by itself": {"gateway": gateway(None, ("192.0.2.7/32",), ("ml",))},
    "where nobody calls by a token, and the issuer is on the Internet": {"gateway": gateway(ACME)},
    "where there is no gateway": {"gateway": None},
    "where runs tell Weights & Biases": {"tracking": WANDB},
    "where runs tell nobody": {"tracking": None},
    "where no alert is mailed": {"mail": ()},
    "where no pool is measured": {"gates": ()},
    "where there are no experiments": {"trials": ()},
    "where nothing brings secrets": {"outside": False},
    "where no service goes to zero": {"to_zero": False},
    "where there are no pipelines": {"pipelines": []},
    "where nothing looks for signatures": {"registry": None},
    "where the registry is asked by TLS's port": {"registry": 443},
}


def test_of_a_stack_with_everything() -> None:
    assert table(network_rules(**EVERYTHING)) == WRITTEN["everything"]


def test_every_namespace_denies_first_and_lets_names_be_resolved() -> None:
    for name, rules in network_rules(**EVERYTHING).items():
        assert list(rules[:2]) == [DENY, NAMES], name
    assert told(DENY) == {"in": "nobody", "out": "nobody"}
    assert told(NAMES) == {"out": "pods k8s-app=kube-dns of kube-system at 53 by UDP, too"}


@pytest.mark.parametrize("case", LESS)
def test_where_there_is_less(case: str) -> None:
    """What is different then, null for what is gone."""
    less = table(network_rules(**{**EVERYTHING, **LESS[case]}))
    whole = WRITTEN["everything"]
    assert {each: less.get(each) for each in {*whole, *less} if less.get(each) != whole.get(each)} == WRITTEN[case]


@pytest.mark.parametrize("named", [False, True])
def test_of_a_team(named: bool) -> None:
    case = "of a team that reaches hosts by their names" if named else "of a team"
    rules = team_rules(known(), named=named)
    assert table({"team": rules}) == WRITTEN[case]
    assert [each for each in rules if each in (DENY, NAMES)] == ([DENY] if named else [DENY, NAMES])
