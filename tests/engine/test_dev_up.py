"""The dev stack once applied, without hardware and without an account (Z19): it runs, and nothing is left to do."""

from collections.abc import Mapping
from typing import Any

import pytest

from catalogue.versions import VOLCANO
from components.aws.cluster import WAYS_ROUND
from components.platform.volcano import volcano_values
from rehearsal.charts import sources
from rehearsal.charts.chart import Order
from rehearsal.engine import state
from rehearsal.plugins.kubernetes.helm_hooks import split

from .rehearsed import Rehearsed

pytestmark = pytest.mark.engine


def test_a_second_preview_finds_nothing_to_do(dev: Rehearsed) -> None:
    dev.assert_quiet()


def test_a_refusal_is_its_table_alone_lf26(dev: Rehearsed) -> None:
    """By the official rules of ending: what the program says of itself, and no traceback or exit code after it."""
    with dev.tree.changed() as tree:
        tree.stack("dev").set("gpucluster:budget.maxHourlyUsd", 1)
        outcome = dev.up()
    assert outcome.status != 0
    (error,) = outcome.record.errors()
    assert error.message.startswith("the planner refuses this stack: 1 finding; nothing was registered")
    told = outcome.log.read_text()
    assert "Traceback" not in told
    assert "exit code" not in told
    dev.assert_quiet()


def identities(site: Rehearsed) -> dict[str, str | None]:
    return {each["urn"]: each.get("id") for each in state.resources(site.engine.export())}


def test_a_change_that_takes_another_cluster_is_refused_before_anything_is_touched_lf18(dev: Rehearsed) -> None:
    """EKS cannot add its own add-ons to a cluster that was made without, so the provider would make a new one."""
    before = identities(dev)
    with dev.tree.changed() as tree:
        tree.edit(
            "components/aws/cluster.py", "bootstrap_self_managed_addons=False", "bootstrap_self_managed_addons=True"
        )
        outcomes = dev.preview(), dev.up()
    for outcome in outcomes:
        assert outcome.status != 0
        (refused,) = [each.message for each in outcome.record.errors() if WAYS_ROUND in each.message]
        assert 'before hook "control-plane-stays" failed: ' in refused
        assert "Traceback" not in outcome.log.read_text(), "the engine gives the program up (LF26)"
        assert {op for op, _, _ in outcome.record.operations()} <= {"create-replacement"}, "what was tried, and refused"
    assert identities(dev) == before
    dev.settled()
    dev.assert_quiet()


def test_workloads_began_when_the_gpu_operator_had_said_that_gpus_work_k02(dev: Rehearsed) -> None:
    """Times of Kubernetes are whole seconds, and of one form, so that they compare as texts."""
    (policy,) = dev.kube.list("nvidia.com/v1", "ClusterPolicy")
    assert policy["status"]["state"] == "ready"
    gates = [each for each in dev.kube.list("batch/v1", "Job") if "gpu-readiness" in each["metadata"]["name"]]
    begun = [
        each["metadata"]["creationTimestamp"]
        for version, kind in (("kubeflow.org/v1", "PyTorchJob"), ("apps/v1", "Deployment"))
        for each in dev.kube.list(version, kind)
        if each["metadata"]["namespace"] in ("training", "inference") and each["metadata"]["name"] != "run-watch"
    ]
    assert len(begun) == 2
    assert len(gates) == 2
    assert all(gate["status"]["completionTime"] <= each for gate in gates for each in begun)


def test_the_run_began_when_its_dataset_was_there_lf14(dev: Rehearsed) -> None:
    """And it found samples in it: a trainer that finds none ends at once."""
    (copy,) = [job for job in dev.kube.list("batch/v1", "Job", "training") if "dataset" in job["metadata"]["name"]]
    (run,) = dev.kube.list("kubeflow.org/v1", "PyTorchJob", "training")
    assert copy["status"]["completionTime"] <= run["metadata"]["creationTimestamp"]
    assert dev.settled().gangs[0].running == 2


def test_volcano_stands_as_its_own_chart_renders_the_programs_values_lf16(dev: Rehearsed) -> None:
    """Roles, arguments and webhooks are the vendor's, admission among them: 132 permissions of the scheduler."""
    chart = sources.find(VOLCANO.name, VOLCANO.version)
    order = Order("volcano", "volcano-system", volcano_values(VOLCANO.version), *dev.kube.capabilities())
    hooks, wanted = split(chart.render(order))
    assert [hook["metadata"]["name"] for hook in hooks if hook["kind"] == "Job"] == ["volcano-admission-init"]
    for obj in wanted:
        meta = obj["metadata"]
        live = dev.kube.get(obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))
        assert live is not None, f"{obj['kind']} {meta['name']}"
        if obj["kind"] in ("ClusterRole", "ConfigMap"):
            assert {key: live.get(key) for key in ("rules", "data")} == {key: obj.get(key) for key in ("rules", "data")}
        if obj["kind"] == "Deployment":
            was, shall = (each["spec"]["template"]["spec"]["containers"] for each in (live, obj))
            assert [(each["image"], each["args"]) for each in was] == [(each["image"], each["args"]) for each in shall]
            assert live["status"]["availableReplicas"] == 1
        if obj["kind"].endswith("WebhookConfiguration"):
            assert all(each["clientConfig"]["caBundle"] for each in live["webhooks"])
    (scheduler,) = [
        obj for obj in wanted if (obj["kind"], obj["metadata"]["name"]) == ("ClusterRole", "volcano-scheduler")
    ]
    assert (
        sum(len(rule["apiGroups"]) * len(rule["resources"]) * len(rule["verbs"]) for rule in scheduler["rules"]) == 132
    )


def test_each_rank_names_efa_and_every_card_of_its_node_lf04(dev: Rehearsed) -> None:
    """A p5.4xlarge has one; the image is the stack file's own, with what its row says is in it."""
    pods = dev.kube.list("v1", "Pod", "training", label_selector="training.kubeflow.org/job-name")
    folders = [f"training_{each['metadata']['name']}_{each['metadata']['uid'][:8]}" for each in pods]
    logs = [log for each in folders for log in dev.directory.clusters.glob(f"*/*/effects/pods/{each}/pytorch/*/log")]
    assert len(logs) == len(pods) == 2
    for log in logs:
        assert "NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 1 nics)" in log.read_text()
        assert "is not known here" not in log.read_text()


def test_the_crds_job_may_make_its_own_definition_only_lf15(dev: Rehearsed) -> None:
    """It made it by a patch, whose name the API server checks: the Job succeeded with rights to this one name."""
    (role,) = [each for each in dev.kube.list("rbac.authorization.k8s.io/v1", "ClusterRole") if _of_crds(each)]
    assert [rule["resourceNames"] for rule in role["rules"]] == [["pytorchjobs.kubeflow.org"]]
    jobs = [each for each in dev.kube.list("batch/v1", "Job", "kubeflow") if _of_crds(each)]
    assert [each["status"]["succeeded"] for each in jobs] == [1, 1]
    definition = dev.kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "pytorchjobs.kubeflow.org")
    assert definition is not None


def _of_crds(each: Mapping[str, Any]) -> bool:
    return str(each["metadata"]["name"]).startswith("training-operator-crds")
