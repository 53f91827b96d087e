"""Follow-ups, gates that end and runs by MPI, as whole stacks that no committed stack file has."""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from catalogue import versions
from catalogue.images import pinned
from policy import RULES
from policy.rule import violations
from tests.graph import schema_kubernetes
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks.test_wiring import part


def _followed() -> dict[str, Any]:
    config = deepcopy(stack_config("dev"))
    training, pool = config["gpucluster:training"], config["gpucluster:pools"][1]["name"]
    queue = config["gpucluster:scheduling"]["queues"][0]["name"]
    training["gates"] = {"minutes": 20, "expiryDays": 17, "history": True}
    training["runs"][0]["checkpoint"] = {"everyMinutes": 30, "withinSeconds": 60}
    follow_up = {"name": "export", "pool": pool, "queue": queue, "script": ["/workspace/train.py"]}
    training["runs"][0]["followUps"] = [follow_up | {"deadlineHours": 7, "keepHours": 9}]
    return config


def _by_mpi() -> dict[str, Any]:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:training"]["runs"][0]["launcher"] = "mpi"
    del config["gpucluster:training"]["runs"][0]["metricsPort"]
    return config


@cache
def followed() -> Recorded:
    return run_program(_followed(), stack="dev")


@cache
def by_mpi() -> Recorded:
    return run_program(_by_mpi(), stack="dev")


@pytest.mark.parametrize("made", [followed, by_mpi], ids=["followed", "by-mpi"])
def test_what_is_registered_breaks_no_rule_and_no_schema(made: Callable[[], Recorded]) -> None:
    if schema_kubernetes.upstream() is None:
        pytest.skip("the vendors' definitions are not at hand: set GPUCLUSTER_UPSTREAM")
    graph = made()
    assert [each.sentence for each in violations(graph, RULES)] == []
    assert [problem for each in graph.resources.values() for problem in schema_kubernetes.problems(each)] == []


EXPORT = "follow-up-llama-3-8b-sft-export"
BUCKET = "s3://gpucluster-dev-artefacts-123456789012"


def test_a_follow_up_is_a_job_on_its_pool_in_its_queue_that_reads_the_runs_saves() -> None:
    """On nodes that the gate let pass; what it makes goes to a place of its own."""
    made_of = {"gpucluster/stack": "dev", "gpucluster/owner": "ml-platform", "gpucluster/dataset": "instructions"}
    image = "registry.example.com/ml/llama-trainer:1.0"
    expected = {
        "kind": "PyTorchJob",
        "metadata": {
            "labels": {**made_of, "gpucluster/follow-up": "llama-3-8b-sft-export"},
            "annotations": {
                "gpucluster/image": image,
                "gpucluster/owner": "ml-platform",
                "gpucluster/dataset": "s3://acme-datasets/instructions",
            },
        },
        "spec": {
            "nprocPerNode": "1",
            "runPolicy": {
                "activeDeadlineSeconds": 7 * 3600,
                "ttlSecondsAfterFinished": 9 * 3600,
                "schedulingPolicy": {"queue": "training", "priorityClass": "experiments"},
            },
        },
    }
    pod = {
        "metadata": {"labels": made_of},
        "spec": {
            "serviceAccountName": "llama-3-8b-sft-export",
            "priorityClassName": "experiments",
            "nodeSelector": {"gpucluster/pool": "training", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
            "tolerations": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
            "volumes": [{"persistentVolumeClaim": {"claimName": "checkpoints"}}, {"name": "shm"}],
        },
    }
    job = json.loads(followed().one(f"{EXPORT}-script").inputs["data"]["job.json"])
    template = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    assert part(expected, job) == expected
    assert part(pod, template) == pod
    assert "gpucluster/gate" in json.dumps(template["spec"]["affinity"])
    (container,) = template["spec"]["containers"]
    assert (container["image"], container["args"]) == (image, ["/workspace/train.py"])
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env["RESULTS_URI"] == f"{BUCKET}/results/llama-3-8b-sft/export"
    mounts = {each["mountPath"]: each.get("subPath") for each in container["volumeMounts"]}
    assert mounts["/checkpoints"] == "checkpoints/llama-3-8b-sft"
    assert mounts["/results"] == "results/llama-3-8b-sft/export"


def test_who_asks_for_a_follow_up_comes_when_the_runs_operator_and_nodes_are_there() -> None:
    """And speaks with the API server alone; the Job itself may write where its results go."""
    graph = followed()
    schedule = graph.one(f"{EXPORT}-schedule")
    spec = schedule.inputs["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert (spec["schedule"], container["image"]) == ("*/15 * * * *", pinned(versions.PYTHON_IMAGE))
    assert "--after=llama-3-8b-sft" in container["args"]
    assert pod["metadata"]["labels"] == {"gpucluster/asks-for": "llama-3-8b-sft-export"}
    before = {graph.resources[urn].name for urn in schedule.depends_on}
    assert before >= {"training-operator-service", "pool-training-nodes", "gpu-readiness-wait", f"{EXPORT}-script"}
    rule = graph.one("network-llama-3-8b-sft-export-training-asks-for-llama-3-8b-sft-export").inputs["spec"]
    assert rule["podSelector"] == {"matchLabels": pod["metadata"]["labels"]}
    (way,) = rule["egress"]
    assert [each["ipBlock"]["cidr"] for each in way["to"]] == ["10.64.0.0/16", "172.20.0.1/32"]
    assert way["ports"] == [{"protocol": "TCP", "port": 443}]
    given = graph.one(f"{EXPORT}-identity-association").inputs
    assert (given["namespace"], given["serviceAccount"]) == ("training", "llama-3-8b-sft-export")
    assert "/results/llama-3-8b-sft/export/*" in graph.one(f"{EXPORT}-identity-policy").inputs["policy"]
    assert f"{EXPORT}-identity-association" in {
        graph.resources[urn].name for urn in graph.one(f"{EXPORT}-script").depends_on
    }


def test_verdicts_of_a_gate_are_kept_in_a_place_of_its_pool_when_there_are_some() -> None:
    graph = followed()
    schedule = graph.one("gate-training-history-schedule")
    spec = schedule.inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["env"] == [{"name": "HISTORY_URI", "value": f"{BUCKET}/gates/training"}]
    assert container["image"] == pinned(versions.AWS_CLI_IMAGE)
    assert spec["serviceAccountName"] == "gate-training-history"
    assert spec["volumes"] == [{"name": "verdicts", "configMap": {"name": "gate-training-verdicts"}}]
    given = graph.one("gate-training-history-identity-association").inputs
    assert (given["namespace"], given["serviceAccount"]) == ("training", "gate-training-history")
    assert "/gates/training/*" in graph.one("gate-training-history-identity-policy").inputs["policy"]
    before = {graph.resources[urn].name for urn in schedule.depends_on}
    assert before >= {"gate-training-job", "gate-training-history-identity-association"}


def test_who_acts_on_runs_by_mpi_is_that_of_the_catalogue_and_looks_where_runs_are() -> None:
    graph = by_mpi()
    deployment = graph.one("mpi-operator-deployment")
    (container,) = deployment.inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"] == pinned(versions.MPI_OPERATOR_IMAGE)
    assert {"--namespace=training", "--lock-namespace=kubeflow"} <= {*container["args"]}
    assert "mpi-operator-crds-apply" in {graph.resources[urn].name for urn in deployment.depends_on}
    job = graph.one("mpi-operator-crds-apply-first")
    pod = job.inputs["spec"]["template"]["spec"]
    (fetch,), (apply,) = pod["initContainers"], pod["containers"]
    assert (fetch["image"], apply["image"]) == (pinned(versions.WAIT_IMAGE), pinned(versions.KUBECTL_IMAGE))
    assert f"/{versions.MPI_OPERATOR}/" in fetch["args"][1]
    assert fetch["args"][3] == versions.MPI_OPERATOR_CRD_SHA256
    assert "training-operator-service" in {graph.resources[urn].name for urn in job.depends_on}
