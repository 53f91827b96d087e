"""Trackers as they are planned, on the fake platform and on AWS: runs tell MLflow or a service outside (R05)."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pulumi
import pytest

from planner.mlops import MlflowPlan, TrackingPlan, WandbPlan
from policy import RULES
from policy.rule import violations
from stacks.deploy import deploy_on
from stacks.outputs import export
from stacks.refusal import _without_tracker
from tests.graph import schema_kubernetes, schema_sdk
from tests.graph.harness import Recorded, config_of, record
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks import fake_platform as fake
from tests.stacks.connections import Connection, End, Network, each_of
from tests.stacks.platforms import deployed

MLFLOW = TrackingPlan(kind="mlflow", secret="trackingDatabase", mlflow=MlflowPlan(gib=33, backup_hours=6))
WANDB = TrackingPlan(
    kind="wandb", secret="trackingKey", wandb=WandbPlan(host="wandb.example.com", entity="nlp", project=None)
)


@cache
def tracked(plan: TrackingPlan) -> Recorded:
    """The fake platform with a tracker."""

    def program() -> None:
        planned = replace(fake.fake_plan(), tracking=plan)
        export(deploy_on(fake.deploy_fake(planned), planned, pulumi.Config("gpucluster")))

    names = ("hfToken", "apiToken", "mailPassword", "trialDatabase", "trackingDatabase", "trackingKey")
    tokens = {f"gpucluster:{name}": f"{name}-for-tests" for name in names}
    return record(program, stack="fake", config=config_of(tokens), secrets=tuple(tokens))


@cache
def on_aws(kind: str = "mlflow") -> Recorded:
    """The dev stack with a tracker."""
    config = stack_config("dev")
    training = {**config["gpucluster:training"], "tracking": {"kind": kind}}
    return run_program({**config, "gpucluster:training": training}, stack="dev")


def container(graph: Recorded, name: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = graph.one(name).inputs["spec"]["template"]["spec"]["containers"]
    return found


def told(graph: Recorded, run: str = "small") -> dict[str, Any]:
    """Variables of a run's first rank."""
    replicas = graph.one(f"run-{run}-job").inputs["spec"]["pytorchReplicaSpecs"]
    (first,) = replicas["Master"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in first["env"]}


def test_runs_are_told_where_mlflow_is_and_what_they_are_made_of_r05() -> None:
    graph = tracked(MLFLOW)
    found = told(graph)
    service = graph.one("tracking-service").inputs
    host, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    assert found["MLFLOW_TRACKING_URI"] == f"http://{host}.{namespace}.svc:{service['spec']['ports'][0]['port']}"
    assert found["MLFLOW_EXPERIMENT_NAME"] == "small"
    annotations = graph.one("run-small-job").inputs["metadata"]["annotations"]
    lineage = {
        key.replace("gpucluster/", "gpucluster."): each.removeprefix("cask://")
        for key, each in annotations.items()
        if key.startswith("gpucluster/")
    }
    assert json.loads(found["MLFLOW_RUN_CONTEXT"]) == lineage
    assert lineage["gpucluster.stack"] == "fake"


def test_a_trial_is_known_by_its_own_name() -> None:
    spec = tracked(MLFLOW).one("experiment-rates-experiment").inputs["spec"]["trialTemplate"]["trialSpec"]["spec"]
    (first,) = spec["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    env = {each["name"]: each.get("value") for each in first["env"]}
    assert (env["MLFLOW_EXPERIMENT_NAME"], env["MLFLOW_RUN_NAME"]) == ("rates", "${trialParameters.trial}")


def test_the_server_keeps_files_in_the_store_and_runs_in_its_database() -> None:
    graph = tracked(MLFLOW)
    server = container(graph, "tracking-server")
    assert "--artifacts-destination=cask://saves/tracking/artifacts" in server["args"]
    database = graph.one("tracking-database-service").inputs
    backend = (
        f"postgresql+psycopg2://mlflow@{database['metadata']['name']}:{database['spec']['ports'][0]['port']}/mlflow"
    )
    assert f"--backend-store-uri={backend}" in server["args"]
    env = {each["name"]: each.get("value", each.get("valueFrom")) for each in server["env"]}
    assert env["CASK_URL"] == "https://cask.example.com"
    (hosts,) = [each for each in server["args"] if each.startswith("--allowed-hosts=")]
    assert told(graph)["MLFLOW_TRACKING_URI"].removeprefix("http://") in hosts.partition("=")[2].split(",")
    secret = graph.one("tracking-database-password")
    assert "stringData" in secret.secret
    key = {"name": secret.inputs["metadata"]["name"], "key": next(iter(secret.inputs["stringData"]))}
    assert env["PGPASSWORD"] == {"secretKeyRef": key}
    (claim,) = graph.one("tracking-database-server").inputs["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == fake.BLOCK_CLASS
    assert claim["spec"]["resources"]["requests"] == {"storage": "33Gi"}


def test_each_account_writes_in_its_own_place_and_nowhere_else_r07() -> None:
    graph = tracked(MLFLOW)
    granted = {name: graph.one(f"{name}-identity").inputs["data"]["write"] for name in ("mlflow", "mlflow-backup")}
    assert granted == {"mlflow": "tracking/artifacts", "mlflow-backup": "tracking/backups"}
    spec = graph.one("tracking-backup-schedule").inputs["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert spec["schedule"] == "0 */6 * * *"
    assert pod["serviceAccountName"] == "mlflow-backup"
    (copy,) = pod["containers"]
    assert 'cask push /dump/mlflow.dump "$BACKUP_URI/$name.dump"' in copy["command"][2]
    assert {"name": "BACKUP_URI", "value": "cask://saves/tracking/backups"} in copy["env"]


def test_without_copies_there_is_no_schedule() -> None:
    graph = tracked(replace(MLFLOW, mlflow=MlflowPlan(gib=5, backup_hours=None)))
    assert not [name for name in {each.name for each in graph.resources.values()} if name.startswith("tracking-backup")]


def test_a_service_outside_is_told_with_a_key_out_of_a_secret_r05() -> None:
    graph = tracked(WANDB)
    found = told(graph)
    assert found["WANDB_BASE_URL"] == "https://wandb.example.com"
    assert (found["WANDB_ENTITY"], found["WANDB_PROJECT"], found["WANDB_RUN_GROUP"]) == ("nlp", "fake", "small")
    assert found["WANDB_API_KEY"] == {"secretKeyRef": {"name": "tracking-key", "key": "key"}}
    secret = graph.one("tracking-key-secret")
    assert secret.inputs["stringData"] == {"key": "trackingKey-for-tests"}
    assert "stringData" in secret.secret
    assert secret.inputs["metadata"]["namespace"] == "training"
    assert not [each for each in graph.resources.values() if each.name.startswith("tracking-database")]


RUN, SERVER, DATABASE = "run-small-job", "tracking-server", "tracking-database-server"
COPIES = End(namespace="tracking", labels={"gpucluster/backup": "mlflow-backup"})
STORE = End(address="203.0.113.9")
NEEDED: tuple[Connection, ...] = (
    ("a run tells the tracker", RUN, SERVER, 5000, True),
    ("the tracker asks its database", SERVER, DATABASE, 5432, True),
    ("the tracker asks the store", SERVER, STORE, 443, True),
    ("a copy asks the database", COPIES, DATABASE, 5432, True),
    ("a copy asks the store", COPIES, STORE, 443, True),
    ("a run asks no database", RUN, DATABASE, 5432, False),
    ("the database asks nobody", DATABASE, STORE, 443, False),
    ("a model server tells nothing", "service-llama-deployment", SERVER, 5000, False),
    ("nobody outside asks the tracker", STORE, SERVER, 5000, False),
    ("the tracker asks no run", SERVER, RUN, 5000, False),
)


@each_of(NEEDED)
def test_who_speaks_with_the_tracker_nw08(source: str | End, target: str | End, port: int, passes: bool) -> None:
    assert Network(tracked(MLFLOW)).passes(source, target, port) is passes


def test_a_tracker_outside_has_a_way_out_of_its_own() -> None:
    graph = tracked(WANDB)
    policies = [each.inputs["metadata"] for each in graph.of_type("NetworkPolicy")]
    assert {"name": "runs-tell", "namespace": "training"} in [
        {key: each[key] for key in ("name", "namespace")} for each in policies
    ]
    assert Network(graph).passes(RUN, STORE, 443)


@pytest.mark.parametrize("kind", ["mlflow", "wandb"])
def test_what_is_registered_is_what_kubernetes_and_the_sdk_know(kind: str) -> None:
    found = list(on_aws(kind).resources.values())
    assert [problem for each in found for problem in schema_sdk.problems(each)] == []
    built_in = [each for each in found if each.kind not in schema_kubernetes.CUSTOM]
    assert [problem for each in built_in for problem in schema_kubernetes.problems(each)] == []


def test_no_rule_about_the_whole_graph_is_broken() -> None:
    assert [str(each) for each in violations(on_aws(), RULES)] == []


def test_on_aws_the_two_accounts_have_roles_of_their_own() -> None:
    graph = on_aws()
    accounts = {each.inputs["serviceAccount"] for each in graph.of_type("PodIdentityAssociation")}
    assert {"mlflow", "mlflow-backup"} <= accounts


def test_a_tracker_is_in_the_outputs_with_what_opens_it() -> None:
    shown: Mapping[str, Any] = on_aws().outputs["workloads"]["tracking"]
    assert shown["tracker"] == "http://mlflow.tracking.svc:5000"
    assert shown["open"] == "kubectl -n tracking port-forward service/mlflow 5000"


def test_stacks_that_say_nothing_have_no_tracker() -> None:
    for stack in ("dev", "prod", "fake"):
        found = deployed(stack)
        assert found.plan.tracking is None
        assert not [each for each in found.graph.resources.values() if each.name.startswith("tracking")]


@pytest.mark.parametrize(
    ("plan", "what"),
    [(MLFLOW, "the tracker has no password for its database"), (WANDB, "the tracker has no key")],
)
def test_without_its_secret_the_stack_is_refused_with_what_to_type(plan: TrackingPlan, what: str) -> None:
    planned = replace(deployed("fake").plan, tracking=plan)
    (said,) = _without_tracker(planned, pulumi.Config("nothing-is-set"))
    assert f"training.tracking.secret: {what}" in said
    assert f"pulumi config set --secret nothing-is-set:{plan.secret}" in said
