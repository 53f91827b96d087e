"""Experiments as they are planned, on the fake platform: trials are runs, and Katib is there for them (R02, R05)."""

import json
from functools import cache
from typing import Any

import pulumi

from policy import RULES
from policy.rule import violations
from stacks.refusal import _without_password
from tests.graph import schema_kubernetes, schema_sdk
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks import fake_platform as fake
from tests.stacks.connections import Connection, End, Network, each_of
from tests.stacks.platforms import deployed


def spec() -> dict[str, Any]:
    found: dict[str, Any] = deployed("fake").spec("experiment-rates-experiment")
    return found


def trial() -> dict[str, Any]:
    found: dict[str, Any] = spec()["trialTemplate"]["trialSpec"]["spec"]
    return found


def test_a_trial_is_the_runs_own_job_but_for_what_the_experiment_says_r02() -> None:
    """DC12: a trial that fails is begun again by its own job alone."""
    found = deployed("fake")
    run, mine = found.spec("run-small-job"), trial()
    assert mine["runPolicy"]["schedulingPolicy"] == {
        **run["runPolicy"]["schedulingPolicy"],
        "queue": "experiments",
        "priorityClass": "experiments",
    }
    assert mine["nprocPerNode"] == run["nprocPerNode"]
    assert mine["runPolicy"]["backoffLimit"] == 2 * deployed("fake").plan.runs["small"].restarts + 1
    (theirs,) = run["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
    pod = mine["pytorchReplicaSpecs"]["Master"]["template"]
    (container,) = pod["spec"]["containers"]
    told = ["learning-rate", "warmup-steps", "dropout", "schedule"]
    assert container["args"] == [*theirs["args"], *(f"--{name}=${{trialParameters.{name}}}" for name in told)]
    assert pod["metadata"]["labels"] == {"gpucluster/run": "rates", "gpucluster/experiment": "rates"}
    for key in ("image", "command", "securityContext", "env"):
        uri = ("cask://saves/checkpoints/small", "cask://saves/checkpoints/rates/${trialParameters.trial}")
        assert json.dumps(container[key]) == json.dumps(theirs[key]).replace(*uri), key
    (place,) = [each["subPath"] for each in container["volumeMounts"] if each["mountPath"] == "/checkpoints"]
    assert place == "checkpoints/rates/${trialParameters.trial}"


def test_a_trials_job_says_what_it_is_made_of_r10() -> None:
    """As its base run's job does. Katib refuses a template that has a name or a namespace."""
    found = deployed("fake")
    run = found.graph.one("run-small-job").inputs["metadata"]
    mine = spec()["trialTemplate"]["trialSpec"]["metadata"]
    assert mine["labels"] == {**run["labels"], "gpucluster/experiment": "rates"}
    annotations = {key: value for key, value in run["annotations"].items() if key.startswith("gpucluster/")}
    assert {"gpucluster/stack", "gpucluster/owner", "gpucluster/image"} <= set(annotations)
    assert mine == {"labels": mine["labels"], "annotations": annotations}


def test_the_collector_has_room_beside_the_first_rank_r02() -> None:
    found = deployed("fake")
    limits = trial()["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    whole = found.gang("small")["spec"]["containers"][0]["resources"]["limits"]
    config = json.loads(found.graph.one("katib-config").inputs["data"]["katib-config.yaml"])
    (collector,) = config["runtime"]["metricsCollectors"]
    beside = collector["resources"]["limits"]
    assert int(limits["cpu"][:-1]) + int(beside["cpu"][:-1]) == int(whole["cpu"][:-1])
    assert int(limits["memory"][:-2]) + int(beside["memory"][:-2]) == int(whole["memory"][:-2])
    assert limits["nvidia.com/gpu"] == whole["nvidia.com/gpu"]


def test_katib_is_told_what_the_stack_file_says_r01_r05() -> None:
    """DC12: how many trials may fail is no number of retries."""
    found = spec()
    assert found["objective"] == {
        "type": "maximize",
        "goal": 0.9,
        "objectiveMetricName": "accuracy",
        "metricStrategies": [{"name": "accuracy", "value": "max"}],
    }
    assert found["algorithm"] == {"algorithmName": "tpe"}
    assert (found["parallelTrialCount"], found["maxTrialCount"], found["maxFailedTrialCount"]) == (1, 5, 2)
    stopping = {each["name"]: each["value"] for each in found["earlyStopping"]["algorithmSettings"]}
    assert stopping == {"min_trials_required": "2", "start_step": "6"}
    assert {each["name"]: (each["parameterType"], each["feasibleSpace"]) for each in found["parameters"]} == {
        "learning-rate": ("double", {"min": "1e-05", "max": "0.001", "distribution": "logUniform"}),
        "warmup-steps": ("int", {"min": "10", "max": "100", "step": "10", "distribution": "uniform"}),
        "dropout": ("discrete", {"list": ["0", "0.1"], "distribution": "uniform"}),
        "schedule": ("categorical", {"list": ["cosine", "linear"], "distribution": "uniform"}),
    }


def test_the_database_has_its_volume_and_its_password_is_a_secret() -> None:
    found = deployed("fake")
    assert found.plan.trial_database is not None
    (claim,) = found.spec("katib-database-server")["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == fake.BLOCK_CLASS
    assert claim["spec"]["resources"]["requests"] == {"storage": f"{found.plan.trial_database.gib}Gi"}
    assert "stringData" in found.graph.one("katib-database-password").secret


def test_the_database_is_copied_to_a_place_of_its_own_r02() -> None:
    """Where no trial may write: a copy that a trial has changed would be restored."""
    found = deployed("fake")
    assert found.graph.one("katib-backup-identity").inputs["data"]["write"] == "backups/trials"
    schedule = found.spec("trials-backup-schedule")
    pod = schedule["jobTemplate"]["spec"]["template"]
    (dump,), (copy,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
    assert (schedule["schedule"], pod["metadata"]["labels"]) == ("0 0 * * *", {"gpucluster/backup": "katib-backup"})
    server = found.graph.one("katib-database-service").inputs["metadata"]["name"]
    assert f"pg_dump --host={server} --port=5432 --username=katib --dbname=katib" in dump["command"][2]
    secret = found.graph.one("katib-database-password").inputs["metadata"]["name"]
    assert dump["env"][0]["valueFrom"] == {"secretKeyRef": {"name": secret, "key": "password"}}
    assert {"name": "BACKUP_URI", "value": "cask://saves/backups/trials"} in copy["env"]


def test_experiments_come_after_katib_and_katib_after_the_training_operator() -> None:
    found = deployed("fake")
    katib = found.graph.one("katib-service").urn
    assert katib in found.graph.one("experiment-rates-experiment").depends_on
    operator = found.graph.one("training-operator-service").urn
    assert operator in found.graph.one("katib-controller").depends_on


def test_katibs_webhooks_have_their_certificate_of_cert_manager_r02() -> None:
    """The one that the gateway has, or one of their own: what injects their authority is told which, and waited for."""
    for found in (deployed("fake").graph, tuned()):
        certificate = found.one("katib-certificate")
        assert certificate.inputs["spec"]["dnsNames"][0] == "katib-controller.kubeflow.svc"
        assert found.one("cert-manager-release").urn in found.one("katib-issuer-own").depends_on
        for kind in ("validating", "mutating"):
            hook = found.one(f"katib-{kind}")
            assert certificate.urn in hook.depends_on
            assert hook.inputs["metadata"]["annotations"] == {
                "cert-manager.io/inject-ca-from": "kubeflow/katib-webhook-cert",
                "pulumi.com/waitFor": "jsonpath={.webhooks[0].clientConfig.caBundle}",
            }
            assert hook.urn in found.one("katib-controller").depends_on
        volumes = found.one("katib-controller").inputs["spec"]["template"]["spec"]["volumes"]
        assert {"name": "cert", "secret": {"secretName": certificate.inputs["spec"]["secretName"]}} in volumes
        config = json.loads(found.one("katib-config").inputs["data"]["katib-config.yaml"])
        assert config["init"]["certGenerator"] == {"enable": False}


def test_cert_manager_is_there_for_katib_alone() -> None:
    """Without a gateway there are no kinds of routes, and cert-manager would end where it is told to look for them."""
    found = tuned()
    assert found.one("cert-manager-release").inputs["values"]["extraArgs"] == []
    assert "gateway" not in {each.inputs["metadata"]["name"] for each in found.of_type("Namespace")}
    network, manager = Network(found), End(namespace="cert-manager", labels={"app": "cert-manager"})
    assert network.passes(manager, End(address="10.64.0.10"), 443)
    assert not network.passes(manager, End(address="203.0.113.9"), 443), "an authority outside"


def test_no_pod_but_a_trials_waits_for_katib() -> None:
    """A controller that is down keeps nobody else's pods from being made."""
    (hook,) = [
        each
        for each in deployed("fake").graph.one("katib-mutating").inputs["webhooks"]
        if each["name"].startswith("mutator.pod")
    ]
    assert hook["objectSelector"] == {"matchExpressions": [{"key": "gpucluster/experiment", "operator": "Exists"}]}
    run = deployed("fake").gang("small")["metadata"]["labels"]
    assert "gpucluster/experiment" not in run


LABEL = "katib.kubeflow.org/metrics-collector-injection"


def test_katibs_webhook_takes_experiments_in_the_trials_namespace_alone() -> None:
    spaces = deployed("fake").graph.of_type("Namespace")
    labelled = {each.inputs["metadata"]["name"]: each.inputs["metadata"]["labels"].get(LABEL) for each in spaces}
    assert {name: label for name, label in labelled.items() if label} == {"training": "enabled"}


def test_without_experiments_there_is_no_katib() -> None:
    for stack in ("dev", "prod"):
        assert not [each for each in deployed(stack).graph.of_type("Namespace") if LABEL in str(each.inputs)]
        names = {each.name for each in deployed(stack).graph.resources.values()}
        assert not [name for name in names if name.startswith("katib")]
        assert deployed(stack).plan.trial_database is None


TRIAL = End(namespace="training", labels={"gpucluster/run": "rates", "gpucluster/experiment": "rates"})
ALGORITHM = End(namespace="training", labels={"katib.kubeflow.org/suggestion": "rates"})
CONTROLLER, MANAGER, DATABASE = "katib-controller", "katib-database-manager", "katib-database-server"
COPIES, STORE = End(namespace="kubeflow", labels={"gpucluster/backup": "katib-backup"}), End(address="203.0.113.9")
API, WEBHOOKS = End(address="192.0.2.10"), End(address="192.0.2.10")
NEEDED: tuple[Connection, ...] = (
    ("its webhooks are asked", WEBHOOKS, CONTROLLER, 8443, True),
    ("the controller asks the API", CONTROLLER, API, 6443, True),
    ("the controller asks an algorithm", CONTROLLER, ALGORITHM, 6789, True),
    ("the controller asks early stopping", CONTROLLER, ALGORITHM, 6788, True),
    ("the controller reads metrics", CONTROLLER, MANAGER, 6789, True),
    ("a trial tells its metrics", TRIAL, MANAGER, 6789, True),
    ("a trial is stopped early", TRIAL, ALGORITHM, 6788, True),
    ("early stopping reads metrics", ALGORITHM, MANAGER, 6789, True),
    ("early stopping marks a trial", ALGORITHM, API, 6443, True),
    ("metrics are kept", MANAGER, DATABASE, 5432, True),
    ("a trial asks no database", TRIAL, DATABASE, 5432, False),
    ("a run tells Katib nothing", "run-small-job", MANAGER, 6789, False),
    ("a trial asks the API nothing", TRIAL, API, 6443, False),
    ("a run asks no algorithm", "run-small-job", ALGORITHM, 6789, False),
    ("the controller asks no database", CONTROLLER, DATABASE, 5432, False),
    ("a copy asks the database", COPIES, DATABASE, 5432, True),
    ("a copy asks the store", COPIES, STORE, 443, True),
    ("the database asks nobody", DATABASE, STORE, 443, False),
)


@each_of(NEEDED)
def test_katib_and_trials_speak_with_whom_they_must_nw08(
    source: str | End, target: str | End, port: int, passes: bool
) -> None:
    assert Network(deployed("fake").graph).passes(source, target, port) is passes


@cache
def tuned() -> Recorded:
    """The dev stack with an experiment."""
    config = stack_config("dev")
    queues = [{"name": "training", "weight": 4}, {"name": "experiments"}]
    experiment = {**fake.rates(), "run": config["gpucluster:training"]["runs"][0]["name"], "nodes": 1}
    training = {**config["gpucluster:training"], "experiments": [experiment]}
    changes = {"gpucluster:scheduling": {"queues": queues}, "gpucluster:training": training}
    return run_program({**config, **changes}, stack="dev")


def test_what_is_registered_is_what_kubernetes_and_the_sdk_know() -> None:
    found = list(tuned().resources.values())
    assert [problem for each in found for problem in schema_sdk.problems(each)] == []
    built_in = [each for each in found if each.kind not in (*schema_kubernetes.CUSTOM, "Experiment")]
    assert [problem for each in built_in for problem in schema_kubernetes.problems(each)] == []


def test_a_person_is_told_what_an_experiment_is_called() -> None:
    (shown,) = tuned().outputs["workloads"]["experiments"].values()
    (made,) = (each for each in tuned().of_type("Experiment") if each.custom)
    assert shown["experiment"] == made.inputs["metadata"]["name"]


def test_no_rule_about_the_whole_graph_is_broken() -> None:
    assert [str(each) for each in violations(tuned(), RULES)] == []


def test_without_its_secret_the_stack_is_refused_with_what_to_type() -> None:
    plan = deployed("fake").plan
    (said,) = _without_password(plan, pulumi.Config("nothing-is-set"))
    assert "training.trialDatabase.secret: the experiments' database has no password" in said
    assert "pulumi config set --secret nothing-is-set:trialDatabase" in said
