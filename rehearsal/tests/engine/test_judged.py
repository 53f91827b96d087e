"""What `up` and `status` complain of: objects that a program declared and that are not there, or not as asked."""

import base64
from dataclasses import replace

import pytest

from rehearsal.engine.view import unenforced
from rehearsal.plugins.kubernetes.helm_store import Record, _secret
from rehearsal.tests.engine.objects import UID, Object, conditions, declared, live, said

GONE = "declared but missing: it was deleted; a refresh, then `up`, recreates it"


# -- there or not


def test_what_is_declared_and_gone_is_told_whatever_its_kind() -> None:
    for version, kind in (("v1", "ConfigMap"), ("v1", "Secret"), ("scheduling.volcano.sh/v1beta1", "Queue")):
        (sentence,) = said(declared(version, kind))
        assert sentence == f"{kind.lower()} inference/web is {GONE}"
        assert said(declared(version, kind), **{kind: [live()]}) == []
    (sentence,) = said(declared("v1", "Namespace", namespace=None), Namespace=[live("other", None)])
    assert sentence.startswith("namespace web is declared but missing")


def test_a_kind_that_is_no_longer_served_is_told() -> None:
    (sentence,) = said(declared("kubeflow.org/v1", "PyTorchJob"), unserved=["PyTorchJob"])
    assert sentence.endswith("is declared, and the API server serves no PyTorchJob of kubeflow.org/v1")


def test_what_is_being_deleted_says_what_holds_it() -> None:
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/keep"]}
    found = said(declared("v1", "Namespace", namespace=None), Namespace=[live(namespace=None, metadata=going)])
    assert found == ["namespace web is being deleted since 2026-01-01T00:00:00Z: example.com/keep"]


# -- autoscalers


SCALER = declared("autoscaling/v2", "HorizontalPodAutoscaler")
TRUE = ("True", "", "")


@pytest.mark.parametrize(
    ("kind", "reason", "message"),
    [
        ("ScalingActive", "FailedGetPodsMetric", "unable to get metric waiting: no custom metrics API"),
        ("ScalingActive", "AmbiguousSelector", "pods by selector app=web are controlled by multiple HPAs: [a b]"),
        ("AbleToScale", "FailedGetScale", 'deployments/scale.apps "wbe" not found'),
    ],
)
def test_an_autoscaler_that_cannot_scale_is_told_in_its_controllers_words_lf06(
    kind: str, reason: str, message: str
) -> None:
    status = conditions(**{"AbleToScale": TRUE, "ScalingActive": TRUE, kind: ("False", reason, message)})
    found = said(SCALER, HorizontalPodAutoscaler=[live(status=status)])
    assert found == [f"horizontalpodautoscaler inference/web does not scale: {reason}: {message}"]


def test_an_autoscaler_that_nobody_looked_at_is_waited_for_lf06() -> None:
    half = live(status=conditions(AbleToScale=TRUE))
    assert said(SCALER, HorizontalPodAutoscaler=[half]) == ["horizontalpodautoscaler inference/web has not scaled yet"]
    assert said(SCALER, HorizontalPodAutoscaler=[live(status=conditions(AbleToScale=TRUE, ScalingActive=TRUE))]) == []


# -- replicas


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_missing_replicas_are_told_also_those_an_autoscaler_asks_for(kind: str) -> None:
    item = declared("apps/v1", kind)
    there = live(spec={"replicas": 2}, status={"readyReplicas": 2, "updatedReplicas": 2})
    assert said(item, **{kind: [there]}) == []
    short = live(spec={"replicas": 2}, status={"readyReplicas": 1, "updatedReplicas": 2})
    assert said(item, **{kind: [short]}) == [f"{kind.lower()} inference/web has 1 of 2 replicas ready"]
    scaler = live("scaler", spec={"minReplicas": 3, "scaleTargetRef": {"kind": kind, "name": "web"}})
    (sentence,) = said(item, **{kind: [there]}, HorizontalPodAutoscaler=[scaler])
    assert "has 2 of 3 replicas ready" in sentence
    elsewhere = {**scaler, "metadata": {"namespace": "other", "name": "scaler"}}
    assert said(item, **{kind: [there]}, HorizontalPodAutoscaler=[elsewhere]) == []


def test_a_deployment_that_still_runs_its_old_template_is_told() -> None:
    old = live(spec={"replicas": 2}, status={"readyReplicas": 2, "updatedReplicas": 1})
    item = declared("apps/v1", "Deployment")
    assert said(item, Deployment=[old]) == ["deployment inference/web has 1 of 2 replicas of its newest template"]
    assert said(item, {("Deployment", "inference", "web")}, Deployment=[old]) == [], "it was told of already"


def test_daemons_are_wanted_on_every_node_that_they_fit() -> None:
    item = declared("apps/v1", "DaemonSet")
    status = {"observedGeneration": 1, "desiredNumberScheduled": 3, "numberReady": 2}
    assert said(item, DaemonSet=[live(status=status)]) == ["daemonset inference/web has 2 of 3 pods ready"]
    assert said(item, DaemonSet=[live(status={**status, "numberReady": 3})]) == []
    assert said(item, DaemonSet=[live()]) == ["daemonset inference/web has not been looked at by its controller"]


def test_a_pod_of_the_program_is_ready_or_done() -> None:
    item = declared("v1", "Pod")
    assert said(item, Pod=[live(status={"phase": "Succeeded"})]) == []
    assert said(item, Pod=[live(status=conditions(Ready=TRUE))]) == []
    assert said(item, Pod=[live(status={"phase": "Pending"})])[0].startswith("pod inference/web is not ready: ")


# -- jobs


JOB = declared("batch/v1", "Job", wanted={"spec": {"ttlSecondsAfterFinished": 60}})


def test_a_job_ends_well_or_is_told() -> None:
    assert said(JOB, Job=[live(status=conditions(Complete=TRUE))]) == []
    assert said(JOB, Job=[live(status={"active": 1})]) == ["job inference/web has not ended"]
    failed = conditions(Failed=("True", "BackoffLimitExceeded", "too often"))
    assert said(JOB, Job=[live(status=failed)]) == ["job inference/web has failed: BackoffLimitExceeded: too often"]
    assert said(JOB, Job=[live(spec={"suspend": True})]) == []


def test_a_job_that_is_gone_went_by_its_own_clock_after_success_or_by_hand() -> None:
    done = replace(JOB, last={"status": conditions(Complete=TRUE)})
    assert said(done) == []
    assert said(replace(done, wanted={})) != [], "without that clock nobody but a person deletes it"
    event = {"metadata": {"namespace": "inference"}, "involvedObject": {"kind": "Job", "name": "web"}}
    ended = {**event, "type": "Normal", "reason": "Completed", "message": "Job completed"}
    assert said(JOB, Event=[ended]) == []
    failed = {**event, "type": "Warning", "reason": "BackoffLimitExceeded", "message": "too often"}
    assert said(JOB, Event=[failed])[0].endswith("recreates it: BackoffLimitExceeded: too often")
    assert said(JOB)[0].startswith("job inference/web is declared but missing")


def test_the_last_job_of_a_schedule_did_not_fail() -> None:
    def job(name: str, day: int, **states: tuple[str, str, str]) -> Object:
        about = {"creationTimestamp": f"2026-01-0{day}T00:00:00Z", "ownerReferences": [{"uid": UID}]}
        return live(name, metadata=about, status=conditions(**states))

    item = declared("batch/v1", "CronJob")
    failed, well = ("True", "BackoffLimitExceeded", "too often"), TRUE
    cron = live()
    assert said(item, CronJob=[cron]) == []
    assert said(item, CronJob=[cron], Job=[job("a", 1, Complete=well), job("b", 2, Failed=failed)]) == [
        "cronjob inference/web: its last job inference/b has failed: BackoffLimitExceeded: too often"
    ]
    assert said(item, CronJob=[cron], Job=[job("a", 3, Complete=well), job("b", 2, Failed=failed)]) == []
    stranger = job("b", 2, Failed=failed)
    stranger["metadata"]["ownerReferences"] = [{"uid": "another"}]
    assert said(item, CronJob=[cron], Job=[stranger]) == []


# -- storage


def test_a_volume_that_remembers_another_claim_is_named_with_what_to_type() -> None:
    """What a destroy that ended half-way leaves: the claim was deleted and made anew, its volume stayed."""
    claim = live(status={"phase": "Pending"}, spec={"storageClassName": "", "volumeName": "data"})
    volume = {"metadata": {"name": "data"}, "status": {"phase": "Released"}}
    (sentence,) = said(
        declared("v1", "PersistentVolumeClaim"), PersistentVolumeClaim=[claim], PersistentVolume=[volume]
    )
    forget = """kubectl patch pv data --type merge -p '{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}'"""
    assert sentence == (
        "persistentvolumeclaim inference/web has no volume (Pending): data is Released, and remembers a claim that is "
        f"gone; `{forget}`, then `up`"
    )
    bound = {**volume, "status": {"phase": "Available"}}
    (sentence,) = said(declared("v1", "PersistentVolumeClaim"), PersistentVolumeClaim=[claim], PersistentVolume=[bound])
    assert "Released" not in sentence


def test_a_claim_has_its_volume_unless_its_class_waits_for_a_pod() -> None:
    item = declared("v1", "PersistentVolumeClaim")
    claim = live(spec={"storageClassName": "gp3"}, status={"phase": "Pending"})
    assert said(item, PersistentVolumeClaim=[live(status={"phase": "Bound"})]) == []
    assert said(item, PersistentVolumeClaim=[claim]) == ["persistentvolumeclaim inference/web has no volume (Pending)"]
    about = {"involvedObject": {"kind": "PersistentVolumeClaim", "name": "web", "uid": UID}, "reason": "Provisioning"}
    event = {"metadata": {"namespace": "inference"}, "type": "Normal", "message": "waiting for a volume", **about}
    (sentence,) = said(item, PersistentVolumeClaim=[claim], Event=[event])
    assert sentence.endswith("has no volume (Pending): Provisioning: waiting for a volume"), "what is no warning"
    event |= {"type": "Warning", "message": "no such class"}
    (sentence,) = said(item, PersistentVolumeClaim=[claim], Event=[event])
    assert sentence.endswith("(Pending): PersistentVolumeClaim: Provisioning: no such class")
    lazy = {**live("gp3", None), "volumeBindingMode": "WaitForFirstConsumer"}
    assert said(item, PersistentVolumeClaim=[claim], StorageClass=[lazy]) == []
    pod = live("p", spec={"volumes": [{"persistentVolumeClaim": {"claimName": "web"}}]})
    assert said(item, PersistentVolumeClaim=[claim], StorageClass=[lazy], Pod=[pod]) != []
    elsewhere, another = live("p", "web", spec=pod["spec"]), live("p", spec={"volumes": [{"emptyDir": {}}]})
    assert said(item, PersistentVolumeClaim=[claim], StorageClass=[lazy], Pod=[elsewhere, another]) == []
    lost = live(spec={"storageClassName": "gp3"}, status={"phase": "Lost"})
    assert said(item, PersistentVolumeClaim=[lost], StorageClass=[lazy])[0].endswith("has no volume (Lost)")


def test_a_volume_that_failed_is_told() -> None:
    item = declared("v1", "PersistentVolume", namespace=None)
    broken = live(namespace=None, status={"phase": "Failed", "message": "no such disk"})
    assert said(item, PersistentVolume=[broken]) == ["persistentvolume web is Failed: no such disk"]
    assert said(item, PersistentVolume=[live(namespace=None, status={"phase": "Available"})]) == []


# -- services, queues, others


def test_a_service_that_selects_nothing_is_told_and_one_whose_pods_start_is_not_lf22() -> None:
    item = declared("v1", "Service")
    service = live(spec={"selector": {"app": "web"}})
    assert said(item, Service=[service]) == ["service inference/web has no endpoint: no pod has the labels app=web"]
    labels = {"labels": {"app": "web"}}
    starting = live("p", metadata=labels, status=conditions(Ready=("False", "", "")))
    assert said(item, Service=[service], Pod=[starting]) == [], "whoever keeps the pod tells"
    ready = live("p", metadata=labels, status=conditions(Ready=TRUE))
    assert said(item, Service=[service], Pod=[ready]) == ["service inference/web has no endpoint"]
    its = {"labels": {"kubernetes.io/service-name": "web"}}
    part = live("web-x", metadata=its, endpoints=[{"addresses": ["10.0.0.1"]}])
    assert said(item, Service=[service], EndpointSlice=[part]) == []
    assert said(item, Service=[live(spec={"type": "ExternalName"})]) == []
    now_and_then = live(spec={"selector": {"app": "web"}}, metadata={"annotations": {"pulumi.com/skipAwait": "true"}})
    assert said(item, Service=[now_and_then]) == []


def test_a_closed_queue_is_told() -> None:
    item = declared("scheduling.volcano.sh/v1beta1", "Queue", namespace=None)
    assert said(item, Queue=[live(namespace=None, status={"state": "Open"})]) == []
    assert said(item, Queue=[live(namespace=None, status={"state": "Closed"})]) == [
        "queue web is Closed and lets no gang in"
    ]


def test_other_kinds_are_judged_by_what_they_say_of_themselves() -> None:
    item = declared("cert-manager.io/v1", "Certificate")
    bad = live(status=conditions(Ready=("False", "Expired", "since yesterday")))
    assert said(item, Certificate=[bad]) == ["certificate inference/web is Ready=False: Expired: since yesterday"]
    assert said(item, Certificate=[live(status=conditions(Ready=TRUE))]) == []


# -- releases


def release(status: str = "deployed", *, description: str = "") -> Object:
    """The record of a release of a Deployment, as its Secret is read."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "web"}}
    kinds = {"Deployment": "apps/v1", "Service": "v1"}
    parts = [role, *({"apiVersion": kinds[kind], "kind": kind, "metadata": {"name": "web"}} for kind in kinds)]
    record = Record("op", "inference", 2, status, "op", "1", {}, parts, description)
    made = _secret(record)
    data = {"release": base64.b64encode(made["stringData"]["release"].encode()).decode()}
    return {**made, "data": data}


def test_a_release_is_deployed_and_what_its_chart_brought_is_there() -> None:
    item = declared("helm.sh/v3", "Release", "op")
    assert said(item) == [
        "release inference/op is declared but missing: it was uninstalled; a refresh, then `up`, recreates it"
    ]
    runs = live(spec={"replicas": 1}, status={"readyReplicas": 1, "updatedReplicas": 1})
    rest = {"ClusterRole": [live(namespace=None)], "Service": [live(spec={"selector": {"app": "later"}})]}
    assert said(item, Secret=[release()], **rest, Deployment=[runs]) == [], "charts have Services for what comes later"
    stands = live(spec={"replicas": 1}, status={"readyReplicas": 0})
    assert "has 0 of 1 replicas ready" in said(item, Secret=[release()], **rest, Deployment=[stands])[0]
    assert said(item, Secret=[release()], **rest, Deployment=[live("other")]) == [
        "deployment inference/web is declared by release op but missing: "
        "it was deleted; a refresh, then `up`, recreates it"
    ]
    failed = release("failed", description="timed out")
    assert said(item, Secret=[failed], **rest, Deployment=[runs]) == [
        "release inference/op is failed at revision 2: timed out"
    ]


def test_network_policies_are_named_as_not_proven() -> None:
    assert unenforced([]) == []
    (sentence,) = unenforced([live("deny", "web"), live("allow", "training")])
    assert sentence.startswith("not proven: ")
    assert sentence.endswith("training/allow, web/deny")
    (many,) = unenforced([live("deny", "web"), *(live(f"allow-{number}", "training") for number in range(7))])
    assert "the 8 that there are (7 in training, 1 in web); `kubectl get networkpolicies -A` lists them" in many
