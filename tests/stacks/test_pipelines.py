"""Kubeflow Pipelines as they are planned, on the fake platform and on AWS (R01, R07)."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.kubeflow.pipelines_server import Store, launcher_config
from components.metal.object_store import client
from components.platform.copying import StoreAddress
from planner.mlops import MlflowPlan, TrackingPlan
from policy import RULES
from policy.rule import violations
from settings.pipelines import Pipelines, Upload
from stacks.deploy import deploy_on
from stacks.outputs import export
from stacks.pipeline_files import compiled, wrong_uploads
from stacks.refusal import _without_pipelines
from tests.graph import schema_kubernetes, schema_sdk
from tests.graph.harness import Recorded, config_of, record
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks import fake_platform as fake
from tests.stacks.connections import Connection, End, Network, each_of

MLFLOW = TrackingPlan(kind="mlflow", secret="trackingDatabase", mlflow=MlflowPlan(gib=33, backup_hours=None))
IMAGE = "registry.example/trainer@sha256:" + "d" * 64
COMMIT = "4f2a91c0" * 5


def written(into: Path, image: str = IMAGE, name: str = "pretraining") -> Path:
    """A compiled pipeline of one step, as kfp 2.17 writes it."""
    spec = {
        "deploymentSpec": {"executors": {"exec-snapshot": {"container": {"image": image}}}},
        "pipelineInfo": {"description": f"commit {COMMIT}", "name": name},
        "root": {"dag": {"tasks": {}}},
        "schemaVersion": "2.1.0",
        "sdkVersion": "kfp-2.17.0",
    }
    into.write_text(json.dumps(spec) + "\n---\nplatforms: {}\n", encoding="utf-8")
    return into


def plan_of(*uploads: str, runs: tuple[str, ...] = ()) -> Pipelines:
    named = tuple(Upload(name="pretraining", file=each) for each in uploads)
    return Pipelines(secret="pipelinesDatabase", gib=44, uploads=named, runs=runs)


def graph_of(plan: Pipelines) -> Recorded:
    """The fake platform with pipelines and MLflow."""

    def program() -> None:
        planned = replace(fake.fake_plan(), pipelines=plan, tracking=MLFLOW)
        export(deploy_on(fake.deploy_fake(planned), planned, pulumi.Config("gpucluster")))

    names = ("hfToken", "apiToken", "mailPassword", "trialDatabase", "trackingDatabase", "pipelinesDatabase")
    tokens = {f"gpucluster:{name}": f"{name}-for-tests" for name in names}
    return record(program, stack="fake", config=config_of(tokens), secrets=tuple(tokens))


@cache
def started() -> Recorded:
    return graph_of(plan_of(runs=("small",)))


@cache
def on_aws() -> Recorded:
    """The dev stack with pipelines."""
    config = stack_config("dev")
    training = {**config["gpucluster:training"], "pipelines": {"gib": 31}}
    return run_program({**config, "gpucluster:training": training}, stack="dev")


def container(graph: Recorded, name: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = graph.one(name).inputs["spec"]["template"]["spec"]["containers"]
    return found


def told(graph: Recorded, name: str) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container(graph, name)["env"]}


def test_the_server_finds_its_database_and_the_platforms_store() -> None:
    graph = started()
    found = told(graph, "pipelines-server-server")
    database = graph.one("pipelines-service").inputs
    assert found["DBCONFIG_MYSQLCONFIG_HOST"] == database["metadata"]["name"]
    assert found["DBCONFIG_MYSQLCONFIG_PORT"] == str(database["spec"]["ports"][0]["port"])
    secret = graph.one("pipelines-password")
    assert "stringData" in secret.secret
    key = {"name": secret.inputs["metadata"]["name"], "key": next(iter(secret.inputs["stringData"]))}
    assert found["DBCONFIG_MYSQLCONFIG_PASSWORD"] == {"secretKeyRef": key}
    assert (found["OBJECTSTORECONFIG_HOST"], found["OBJECTSTORECONFIG_PORT"]) == ("cask.example.com", "8333")
    assert (found["OBJECTSTORECONFIG_SECURE"], found["OBJECTSTORECONFIG_REGION"]) == ("false", "cellar")
    assert (found["OBJECTSTORECONFIG_ACCESSKEY"], found["OBJECTSTORECONFIG_SECRETACCESSKEY"]) == ("", "")
    assert found["CASK_URL"] == "https://cask.example.com"
    (claim,) = graph.one("pipelines-mysql").inputs["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"] == {"storage": "44Gi"}


def test_accounts_write_in_the_pipelines_place_and_nowhere_else_r07() -> None:
    graph = started()
    for account in ("ml-pipeline", "pipeline-runner", "ml-pipeline-ui"):
        assert graph.one(f"{account}-identity").inputs["data"] == {"write": "pipelines"}
    prefix = told(graph, "pipelines-server-server")["OBJECTSTORECONFIG_PIPELINEPATH"]
    root = graph.one("pipelines-server-launcher").inputs["data"]["defaultPipelineRoot"]
    assert prefix.startswith("pipelines/")
    assert root == "s3://saves/pipelines/artifacts"


def test_a_key_of_a_sites_store_is_read_by_the_steps_and_no_other_secret() -> None:
    store = Store(
        address=StoreAddress(endpoint="https://store.example.com:9000", region="us-east-1"),
        bucket="artefacts",
        prefix="pipelines",
        client=client("aws:2", "https://store.example.com:9000").env,
    )
    assert store.key() == {"secretName": "object-store", "accessKeyKey": "id", "secretKeyKey": "key"}
    told: dict[str, Any] = {}

    def program() -> None:
        launcher_config(store).apply(told.update)

    record(program, stack="store")
    default = json.loads(told["providers"])["s3"]["default"]
    assert default["endpoint"] == "store.example.com:9000"
    assert default["credentials"] == {"fromEnv": False, "secretRef": store.key()}
    assert default["disableSSL"] is False


def test_a_run_of_pipelines_is_a_text_that_a_step_fills_in_and_no_job_of_up() -> None:
    graph, plain = started(), fake.fake_graph()
    assert not [each for each in graph.resources.values() if each.name == "run-small-job"]
    kept = graph.one("pipeline-run-small-job").inputs
    assert kept["metadata"] == {"name": "run-small", "namespace": "pipelines"}
    job = json.loads(kept["data"]["job.json"])
    assert job["metadata"]["name"] == "${job}"
    assert job["metadata"]["namespace"] == "training"
    was = plain.one("run-small-job").inputs["spec"]
    assert set(job["spec"]) == set(was)
    assert job["spec"]["runPolicy"] == was["runPolicy"]
    (here,) = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    (there,) = was["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    assert {key: here[key] for key in here if key not in ("env", "volumeMounts")} == {
        key: there[key] for key in there if key not in ("env", "volumeMounts")
    }
    places = {each["mountPath"]: each.get("subPath") for each in here["volumeMounts"]}
    assert (places["/checkpoints"], places["/data"]) == ("${saves}", "${data}")
    env = {each["name"]: each.get("value") for each in here["env"]}
    assert env["CHECKPOINT_URI"] == "cask://saves/checkpoints/small/${job}"


def test_steps_find_the_shared_files_by_the_names_of_runs_and_the_token_of_who_starts() -> None:
    graph = started()
    claims = {
        (each.inputs["metadata"]["namespace"], each.inputs["metadata"]["name"])
        for each in graph.of_type("PersistentVolumeClaim")
    }
    assert {("pipelines", "checkpoints"), ("pipelines", "training-data")} <= claims
    token = graph.one("pipelines-starter-token").inputs
    assert token["type"] == "kubernetes.io/service-account-token"
    assert token["metadata"]["annotations"] == {"kubernetes.io/service-account.name": "pipeline-starter"}
    binding = graph.one("pipelines-starter-binding").inputs
    assert binding["metadata"]["namespace"] == "training"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "pipeline-starter", "namespace": "pipelines"}]
    scripts = graph.one("pipelines-scripts").inputs["data"]
    assert {"starting.py", "publish.py", "steps.py", "training.py"} <= set(scripts)


STEP = End(namespace="pipelines", labels={"workflows.argoproj.io/workflow": "pretraining-x"})
UPLOAD = End(namespace="pipelines", labels={"gpucluster/pipelines": "upload"})
COPIES, STORE = End(namespace="pipelines", labels={"gpucluster/backup": "pipelines-backup"}), End(address="203.0.113.9")
API, DATABASE, METADATA, UI = (f"pipelines-{each}" for each in ("server-server", "mysql", "metadata-server", "ui"))
NEEDED: tuple[Connection, ...] = (
    ("a step asks the server", STEP, API, 8887, True),
    ("a step keeps what it made", STEP, METADATA, 8080, True),
    ("a step registers a model", STEP, "tracking-server", 5000, True),
    ("a step asks the store", STEP, STORE, 443, True),
    ("a step asks no database", STEP, DATABASE, 3306, False),
    ("a step asks no UI", STEP, UI, 3000, False),
    ("an upload asks the server", UPLOAD, API, 8888, True),
    ("an upload asks nobody else", UPLOAD, STORE, 443, False),
    ("the server asks its database", API, DATABASE, 3306, True),
    ("metadata asks the database", METADATA, DATABASE, 3306, True),
    ("the agent tells the server", "pipelines-agent", API, 8887, True),
    ("the clock tells the server", "pipelines-scheduled", API, 8888, True),
    ("the UI asks the server", UI, API, 8888, True),
    ("the UI asks metadata", UI, "pipelines-metadata-envoy", 9090, True),
    ("Envoy asks metadata", "pipelines-metadata-envoy", METADATA, 8080, True),
    ("the database asks nobody", DATABASE, STORE, 443, False),
    ("a copy asks the database", COPIES, DATABASE, 3306, True),
    ("a copy asks the store", COPIES, STORE, 443, True),
    ("no run asks the server", "experiment-rates-experiment", API, 8888, False),
    ("no model server asks it", "service-llama-deployment", API, 8888, False),
    ("nobody outside asks the UI", STORE, UI, 3000, False),
    ("Argo asks no store", "pipelines-argo-controller", STORE, 443, False),
)


@each_of(NEEDED)
def test_who_speaks_with_pipelines_nw08(source: str | End, target: str | End, port: int, passes: bool) -> None:
    assert Network(started()).passes(source, target, port) is passes


def test_both_databases_are_copied_to_a_place_where_no_step_may_write_r07() -> None:
    graph = started()
    written_to = {
        name: graph.one(f"{name}-identity").inputs["data"]["write"] for name in ("pipelines-backup", "pipeline-runner")
    }
    assert written_to == {"pipelines-backup": "backups/pipelines", "pipeline-runner": "pipelines"}
    pod = graph.one("pipelines-backup-schedule").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (dump,), (copy,) = pod["initContainers"], pod["containers"]
    service = graph.one("pipelines-service").inputs["metadata"]["name"]
    (asked,) = [line for line in dump["command"][2].splitlines() if line.startswith("mysqldump")]
    assert f"--host={service} --port=3306 --user=root" in asked
    assert asked.endswith(" --databases mlpipeline metadb")
    assert {"name": "BACKUP_URI", "value": "cask://saves/backups/pipelines"} in copy["env"]
    assert not [
        each
        for each in graph_of(plan_of().model_copy(update={"backup_hours": None})).of_type("CronJob")
        if "pipelines" in each.name
    ]


def test_a_changed_file_is_another_upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "p.yaml")
    first = graph_of(plan_of("p.yaml")).one("pipeline-pretraining-job").inputs
    again = graph_of(plan_of("p.yaml")).one("pipeline-pretraining-job").inputs
    written(tmp_path / "p.yaml", name="other")
    other = graph_of(plan_of("p.yaml")).one("pipeline-pretraining-job").inputs
    assert first == again
    assert first["metadata"]["name"] != other["metadata"]["name"]
    (step,) = first["spec"]["template"]["spec"]["containers"]
    (version,) = [each for each in step["args"] if each.startswith("--version=")]
    assert version.startswith(f"--version={COMMIT[:12]}-")
    assert "--server=http://ml-pipeline.pipelines.svc:8888" in step["args"]
    assert first["spec"]["template"]["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("kind: Workflow\n", "is not a compiled pipeline of version 2"),
        ("a: [\n", "is not a compiled pipeline of version 2"),
        ("x" * 950_000, "more than 900000 bytes"),
        ("pipelineInfo: {name: p}\ndeploymentSpec: {}\n", "is not a compiled pipeline of version 2"),
        (
            "pipelineInfo: {name: p}\ndeploymentSpec: {}\nroot: {}\nschemaVersion: 2.0.0\n",
            "has schema version 2.0.0, and Kubeflow Pipelines 2.17.0 take 2.1.0 alone",
        ),
    ],
)
def test_a_file_that_is_no_pipeline_is_refused_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "p.yaml").write_text(content, encoding="utf-8")
    (line,) = wrong_uploads(plan_of("p.yaml"))
    assert line.startswith("gpucluster:training.pipelines.uploads[0].file: p.yaml ")
    assert said in line


def test_a_step_without_a_digest_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "p.yaml", image="registry.example/trainer:1.0")
    (line,) = wrong_uploads(plan_of("p.yaml"))
    assert "step snapshot is of registry.example/trainer:1.0" in line
    written(tmp_path / "p.yaml")
    assert list(wrong_uploads(plan_of("p.yaml"))) == []
    assert compiled(Upload(name="p", file="p.yaml")).version.startswith(COMMIT[:12])
    assert list(wrong_uploads(None)) == []


def test_without_its_password_a_stack_is_refused() -> None:
    planned = replace(fake.fake_plan(), pipelines=plan_of())
    (said,) = _without_pipelines(planned, pulumi.Config("nothing-is-set"))
    assert "training.pipelines.secret: the pipelines' database has no password" in said
    assert "pulumi config set --secret nothing-is-set:pipelinesDatabase" in said


def test_what_is_registered_is_what_the_schemas_and_the_policies_take() -> None:
    found = list(on_aws().resources.values())
    assert [problem for each in found for problem in schema_sdk.problems(each)] == []
    built_in = [each for each in found if each.kind not in schema_kubernetes.CUSTOM]
    assert [problem for each in built_in for problem in schema_kubernetes.problems(each)] == []
    assert [str(each) for each in violations(on_aws(), RULES)] == []


def test_on_aws_pods_have_identities_and_no_keys() -> None:
    graph = on_aws()
    launcher = graph.one("pipelines-server-launcher").inputs["data"]
    default = json.loads(launcher["providers"])["s3"]["default"]
    assert default["credentials"] == {"fromEnv": True}
    assert default["endpoint"] == f"s3.{default['region']}.amazonaws.com"
    associated = {each.inputs["serviceAccount"] for each in graph.of_type("PodIdentityAssociation")}
    assert {"ml-pipeline", "pipeline-runner", "ml-pipeline-ui"} <= associated


def test_without_the_section_there_is_nothing_of_it() -> None:
    assert not [each for each in fake.fake_graph().resources.values() if "pipeline" in each.name]
