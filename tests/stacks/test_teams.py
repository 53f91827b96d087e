"""Teams from the stack file to what is registered, on AWS and on a platform that nobody sells (Y02, Y03)."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pulumi
import pytest

from components.tracking.mlflow import SERVER
from planner.teams import TeamPlan
from policy.graph import Graph
from policy.pods import pods
from stacks.deploy import deploy_on
from tests.graph.harness import Recorded, config_of, record
from tests.graph.schema_kubernetes import problems
from tests.graph.stackfiles import graph_of, run_program, stack_config
from tests.stacks import fake_platform as fake
from tests.stacks.connections import End, Network

ALICE, BOB = "arn:aws:iam::123456789012:role/ml/alice", "arn:aws:iam::123456789012:user/bob"
TEAMS: list[dict[str, Any]] = [
    {
        "name": "vision",
        "queue": "vision",
        "gpus": 2,
        "storageGib": 300,
        "monthlyUsd": 9000,
        "members": [{"role": "trainer", "arn": ALICE}, {"role": "viewer", "group": "research"}],
    },
    {
        "name": "speech",
        "queue": "speech",
        "gpus": 1,
        "members": [{"role": "operator", "arn": BOB}, {"role": "viewer", "arn": ALICE}],
    },
]
OF_A_TEAM = End(namespace="team-vision", labels={"app": "notebook"})
TRIALS = "trials-vision"


@cache
def aws() -> Recorded:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:scheduling"]["queues"] += [{"name": "vision", "gpus": 2}, {"name": "speech"}]
    training = config["gpucluster:training"]
    training["experiments"] = [{**fake.rates(), "run": training["runs"][0]["name"], "nodes": 1, "team": "vision"}]
    training["tracking"] = {"kind": "mlflow"}
    return run_program({**config, "gpucluster:teams": TEAMS}, stack="dev")


VISION = TeamPlan(
    name="vision",
    namespace="team-vision",
    queue="training",
    gpus=8,
    storage_gib=10,
    monthly_usd=None,
    groups={"trainer": ("vision-people",)},
    principals={},
)


@cache
def elsewhere() -> Recorded:
    return on_the_fake(VISION)


def on_the_fake(team: TeamPlan) -> Recorded:
    def program() -> None:
        planned = replace(fake.fake_plan(), teams=(team,))
        deploy_on(fake.deploy_fake(planned), planned, pulumi.Config("gpucluster"))

    names = ("hfToken", "apiToken", "mailPassword", "trialDatabase")
    tokens = {f"gpucluster:{name}": name for name in names}
    return record(program, stack="fake", config=config_of(tokens), secrets=tuple(tokens))


def test_each_team_has_a_confined_namespace_that_names_its_queue() -> None:
    for team in ("vision", "speech"):
        metadata = aws().one(f"teams-{team}").inputs["metadata"]
        assert metadata["name"] == f"team-{team}"
        assert metadata["labels"]["gpucluster/queue"] == team
        assert metadata["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"


def test_its_quota_is_the_stack_files_and_parted_between_its_people_and_its_trials() -> None:
    """One trial of one GPU runs at once."""
    hard = aws().one("teams-vision-quota").inputs["spec"]["hard"]
    held = {
        each: aws().one(f"namespaces-{TRIALS}-{each}-quota").inputs["spec"]["hard"]["requests.nvidia.com/gpu"]
        for each in ("inference", "training", "experiments")
    }
    assert (hard["requests.nvidia.com/gpu"], held) == ("1", {"inference": "0", "training": "0", "experiments": "1"})
    other = aws().one("teams-speech-quota").inputs["spec"]["hard"]
    assert other["requests.nvidia.com/gpu"] == "1"
    assert hard["requests.storage"] == "300Gi"
    assert (hard["services.loadbalancers"], hard["services.nodeports"]) == ("0", "0")
    serving = aws().one("teams-vision-inference-quota").inputs["spec"]
    assert serving["hard"] == {"requests.nvidia.com/gpu": "0"}
    assert serving["scopeSelector"]["matchExpressions"][0]["values"] == ["inference"]


def bound(graph: Recorded, name: str) -> tuple[str, list[str]]:
    binding = graph.one(name).inputs
    return binding["roleRef"]["name"], [each["name"] for each in binding["subjects"]]


def test_people_are_bound_by_group_in_their_own_namespace_only() -> None:
    assert bound(aws(), "teams-vision-trainer") == ("gpucluster:team-trainer", ["gpucluster:vision:trainer"])
    assert bound(aws(), "teams-vision-viewer") == ("gpucluster:team-viewer", ["research"])
    assert bound(aws(), "teams-speech-viewer") == ("gpucluster:team-viewer", ["gpucluster:speech:viewer"])
    bindings = [each for each in aws().of_type("RoleBinding") if each.name.startswith("teams-")]
    assert {each.inputs["metadata"]["namespace"] for each in bindings} == {"team-vision", "team-speech", TRIALS}
    everybody = ("gpucluster:team-viewer", ["gpucluster:vision:trainer", "research"])
    assert bound(aws(), "teams-vision-trials") == everybody
    assert aws().one("teams-vision-trials").inputs["metadata"]["namespace"] == TRIALS


def test_trials_of_a_team_are_where_its_people_read_r02() -> None:
    """In its queue, by Katib's and the operator's rights there; the files that they mount are none of the team's."""
    graph = aws()
    labels = graph.one(f"namespaces-{TRIALS}").inputs["metadata"]["labels"]
    assert (labels["gpucluster/team"], labels["gpucluster/queue"]) == ("vision", "vision")
    assert labels["katib.kubeflow.org/metrics-collector-injection"] == "enabled"
    experiment = graph.one("experiment-rates-experiment").inputs
    assert experiment["metadata"]["namespace"] == TRIALS
    job = experiment["spec"]["trialTemplate"]["trialSpec"]["spec"]
    assert job["runPolicy"]["schedulingPolicy"]["queue"] == "vision"
    volumes = job["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["volumes"]
    named = {each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each}
    of_files = graph.of_type("PersistentVolumeClaim")
    there = {each.inputs["metadata"]["name"] for each in of_files if each.inputs["metadata"]["namespace"] == TRIALS}
    assert named <= there
    assert not [each for each in of_files if each.inputs["metadata"]["namespace"] == "team-vision"]
    acting = {
        each.inputs["subjects"][0]["name"]
        for each in graph.of_type("RoleBinding")
        if each.inputs["metadata"]["namespace"] == TRIALS and each.inputs["subjects"][0]["kind"] == "ServiceAccount"
    }
    assert {"katib-controller", "training-operator"} <= acting
    for found, one in ((graph, False), (graph_of("dev"), True)):
        (container,) = found.one("training-operator-deployment").inputs["spec"]["template"]["spec"]["containers"]
        assert ("--namespace=training" in container["args"]) is one, "it serves one namespace, or looks at all"
        rules = found.one("training-operator-access-rights").inputs["rules"]
        looked_at = [each for each in rules if "pods" in each["resources"]]
        assert [each["verbs"] for each in looked_at] == ([] if one else [["get", "list", "watch"]])
    assert graph.one("experiment-rates-account").inputs["metadata"]["namespace"] == TRIALS


def test_what_a_team_starts_itself_asks_nothing_of_trials_katib_or_the_tracker_nw08() -> None:
    """As it could say it is a trial: labels are its own. Both sides refuse, so one slip opens nothing."""
    network = Network(aws())
    said = {"gpucluster/experiment": "rates", "gpucluster/run": "rates", "katib.kubeflow.org/suggestion": "rates"}
    trial, forged = End(namespace=TRIALS, labels=said), End(namespace="team-vision", labels=said)
    manager, tracker = "katib-database-manager", End(namespace="tracking", labels=SERVER)
    for source, passes in ((trial, True), (forged, False)):
        both = (passes, passes)
        assert network.sides(source, manager, 6789) == both
        assert network.sides("katib-controller", source, 6789) == both
        assert network.sides(source, tracker, 5000) == both
        assert network.sides(source, trial, 23456) == both


def test_who_is_of_two_teams_is_known_to_eks_once() -> None:
    entries = {
        each.inputs["principalArn"]: each.inputs.get("kubernetesGroups", [])
        for each in aws().of_type("AccessEntry")
        if each.name.startswith("team-people")
    }
    assert entries == {
        ALICE: ["gpucluster:speech:viewer", "gpucluster:vision:trainer"],
        BOB: ["gpucluster:speech:operator"],
    }
    assert not [each for each in aws().of_type("AccessPolicyAssociation") if each.name.startswith("team-people")]


def test_nobody_of_a_team_changes_rules_quotas_or_rights() -> None:
    for role in ("viewer", "trainer", "operator"):
        for rule in aws().one(f"team-rights-{role}").inputs["rules"]:
            changes = set(rule["verbs"]) - {"get", "list", "watch"}
            kept = {"networkpolicies", "resourcequotas", "limitranges", "roles", "rolebindings", "namespaces"}
            assert not (changes and kept & set(rule["resources"])), (role, rule)
            assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
            assert not {"impersonate", "escalate", "bind"} & set(rule["verbs"])


def test_only_trainers_and_operators_read_secrets() -> None:
    def secrets(role: str) -> bool:
        return any("secrets" in rule["resources"] for rule in aws().one(f"team-rights-{role}").inputs["rules"])

    assert [secrets(role) for role in ("viewer", "trainer", "operator")] == [False, True, True]


def test_default_deny_stays() -> None:
    network = Network(aws())
    other = End(namespace="team-speech", labels={"app": "notebook"})
    assert network.passes(OF_A_TEAM, End(namespace="team-vision", labels={"app": "rank"}), 23456)
    assert network.passes(OF_A_TEAM, End(address="52.219.96.10"), 443), "an object store"
    for far, port in (
        (other, 23456),
        (End(address="10.64.130.7"), 22),
        (End(address="172.20.0.1"), 443),
        (End(namespace="training", labels={"app": "x"}), 23456),
        (End(address="169.254.169.254"), 80),
    ):
        assert not network.passes(OF_A_TEAM, far, port), far
    assert not network.passes(other, OF_A_TEAM, 23456)


def test_outputs_tell_each_team_where_it_is() -> None:
    told = aws().outputs["scheduling"]["teams"]
    own = {"namespace": "team-vision", "queue": "vision", "gpus": 2, "monthlyUsd": 9000}
    assert told["vision"] == {**own, "roles": ["trainer", "viewer"]}
    assert told["speech"]["roles"] == ["operator", "viewer"]


def test_another_platform_has_teams_by_the_contract() -> None:
    graph = elsewhere()
    assert bound(graph, "teams-vision-trainer") == ("gpucluster:team-trainer", ["vision-people"])
    assert graph.one("team-network-team-vision-deny-by-default").inputs["metadata"]["namespace"] == "team-vision"
    assert graph.one("team-rights-queue-policy")


def test_a_platform_that_knows_groups_only_admits_nobody_by_themselves() -> None:
    with pytest.raises(ValueError, match="knows groups only"):
        on_the_fake(replace(VISION, principals={ALICE: "g"}))


def test_a_stack_without_teams_registers_nothing_of_them() -> None:
    graph = graph_of("dev")
    assert not [each.name for each in graph.resources.values() if each.name.startswith("team")]
    assert "teams" not in graph.outputs["scheduling"]


def test_no_pod_is_made_for_a_team() -> None:
    made: Graph = aws()
    assert not [pod for pod in pods(made) if str(pod.namespace).startswith("team-")]


@cache
def on_premises() -> Recorded:
    config = deepcopy(stack_config("metal"))
    config["gpucluster:scheduling"]["queues"] += [{"name": "vision", "gpus": 2}]
    people = [{"role": "trainer", "group": "vision-people"}]
    team = {"name": "vision", "queue": "vision", "gpus": 2, "members": people, "reaches": ["pypi.org", "*.pypi.org"]}
    return run_program({**config, "gpucluster:teams": [team]}, stack="metal")


def test_a_team_may_reach_named_hosts_alone() -> None:
    """By Cilium, which overhears what the name service answers: no other policy may let pods ask it."""
    policy = on_premises().one("team-vision-hosts")
    assert not problems(policy)
    assert policy.inputs["metadata"] == {"name": "hosts", "namespace": "team-vision"}
    asks, speaks = policy.inputs["spec"]["egress"]
    assert asks["toPorts"][0]["rules"] == {"dns": [{"matchPattern": "*"}]}
    assert speaks == {
        "toFQDNs": [{"matchName": "pypi.org"}, {"matchPattern": "*.pypi.org"}],
        "toPorts": [{"ports": [{"port": "443", "protocol": "TCP"}]}],
    }
    network, name_service = Network(on_premises()), End(namespace="kube-system", labels={"k8s-app": "kube-dns"})
    assert not network.passes(OF_A_TEAM, End(address="52.219.96.10"), 443), "the whole Internet"
    assert not network.passes(OF_A_TEAM, name_service, 53), "a rule without names for the same port"
    assert network.passes(OF_A_TEAM, End(namespace="team-vision", labels={"app": "rank"}), 23456)
    values = [each.one("cilium-release").inputs["values"] for each in (on_premises(), graph_of("metal"))]
    assert [each["l7Proxy"] for each in values] == [True, False], "what overhears is there for teams with names alone"


def test_a_platform_whose_network_knows_no_names_takes_none() -> None:
    with pytest.raises(ValueError, match="knows addresses only"):
        on_the_fake(replace(VISION, reaches=("pypi.org",)))
