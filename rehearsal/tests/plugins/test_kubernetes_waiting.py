"""How the kubernetes plugin waits, on objects alone: no cluster, and a clock that the tests set."""

from typing import Any

import pytest

from rehearsal.kube.client import ApiError
from rehearsal.plugins.kubernetes import awaiting
from rehearsal.plugins.kubernetes.awaiter import Awaiter, Seen
from rehearsal.plugins.kubernetes.awaiters import (
    DaemonSetAwaiter,
    JobAwaiter,
    PodAwaiter,
    ServiceAwaiter,
    StatefulSetAwaiter,
)
from rehearsal.plugins.kubernetes.deployment_awaiter import DeploymentAwaiter
from rehearsal.plugins.kubernetes.polled import ClaimAwaiter, QuotaAwaiter, TokenAwaiter, VolumeAwaiter

Obj = dict[str, Any]


def obj(api_version: str, kind: str, name: str = "x", **parts: Any) -> Obj:
    metadata = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def conditions(*pairs: tuple[str, str], **more: str) -> list[Obj]:
    return [{"type": kind, "status": status, **more} for kind, status in pairs]


def pod(*unmet: str, message: str = "", **status: Any) -> Obj:
    """A pod of the object `x` that is scheduled; the conditions named do not hold."""
    rest = [kind for kind in ("Initialized", "Ready") if kind not in unmet]
    found = conditions(("PodScheduled", "True"), *((kind, "True") for kind in rest))
    found += conditions(*((kind, "False") for kind in unmet), reason="ContainersNotReady", message=message)
    made = obj("v1", "Pod", "x-1", status={"phase": "Pending", "conditions": found, **status})
    made["metadata"]["ownerReferences"] = [{"uid": "uid-x"}]
    return made


def job(**status: Any) -> Obj:
    return obj("batch/v1", "Job", status={"startTime": "2026-01-01T00:00:00Z", **status})


FAILED_JOB = job(
    conditions=conditions(("Failed", "True"), reason="BackoffLimitExceeded", message="Job has reached its limit")
)


def test_what_a_failed_init_container_said_is_not_read_lf19() -> None:
    """Only the main containers' states are: a step that is to tell something is one of them."""
    said = {
        "name": "look",
        "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "no object lies there"}},
    }
    waiting = {"name": "copy", "ready": False, "state": {"waiting": {"reason": "PodInitializing"}}}
    silent = pod(
        "Initialized",
        "Ready",
        message="containers with incomplete status: [look]",
        initContainerStatuses=[said],
        containerStatuses=[waiting],
    )
    awaiter = JobAwaiter(job())
    awaiter.observe(Seen(FAILED_JOB, {"Job": [FAILED_JOB], "Pod": [silent]}), 1)
    assert awaiter.failed
    assert awaiter.failure_text() == "Resource 'x' was created but failed to initialize"
    assert awaiter.reasons() == [
        "[Pod n/x-1]: containers with incomplete status: [look][PodInitializing] ",
        "[BackoffLimitExceeded] Job has reached its limit",
    ]


def test_a_main_container_is_read_with_its_termination_message_lf19() -> None:
    said = {
        "name": "copy",
        "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "no object lies there"}},
    }
    telling = pod("Ready", message="containers with unready status: [copy]", containerStatuses=[said])
    awaiter = JobAwaiter(job())
    awaiter.observe(Seen(job(), {"Job": [job()], "Pod": [telling]}), 1)
    awaiter.observe(Seen(FAILED_JOB, {"Job": [FAILED_JOB], "Pod": []}), 2)
    assert awaiter.reasons()[0] == "[Pod n/x-1]: containers with unready status: [copy][Error] no object lies there"


def test_a_job_that_failed_for_a_reason_the_provider_does_not_know_is_waited_for_lf19() -> None:
    other = job(conditions=conditions(("Failed", "True"), reason="PodFailurePolicy", message="m"))
    awaiter = JobAwaiter(job())
    awaiter.observe(Seen(other, {"Job": [other]}), 1)
    assert not awaiter.failed
    assert not awaiter.ready


def test_a_jobs_time_begins_anew_with_each_event_of_any_job_beside_it_lf23() -> None:
    awaiter, other = JobAwaiter(job()), obj("batch/v1", "Job", "other")
    for second in range(40):
        other["metadata"]["resourceVersion"] = str(second)
        awaiter.observe(Seen(job(), {"Job": [job(), dict(other, metadata=dict(other["metadata"]))]}), float(second))
        assert not awaiter.late(float(second), 15)
    awaiter.observe(Seen(job(), {"Job": [job(), other]}), 53.9)
    assert not awaiter.late(53.9, 15)
    assert awaiter.late(54.0, 15)


def test_more_than_a_minute_of_a_jobs_time_never_ends_lf23() -> None:
    """The informers tell of the Job anew each minute: only a deadline in the Job itself ends it."""
    awaiter = JobAwaiter(job())
    for second in range(0, 4000, 7):
        awaiter.observe(Seen(job(), {"Job": [job()]}), float(second))
        assert not awaiter.late(float(second), 61)
    assert awaiter.late(4000, 30)


def test_a_finished_job_is_ready_and_a_suspended_one_never() -> None:
    done = job(conditions=conditions(("Complete", "True")))
    for live, expected in ((done, True), (obj("batch/v1", "Job", spec={"suspend": True}), False)):
        awaiter = JobAwaiter(live)
        awaiter.observe(Seen(live), 1)
        assert awaiter.ready is expected


SERVICE = obj("v1", "Service", spec={"type": "ClusterIP", "clusterIP": "10.0.0.1", "selector": {"app": "a"}})


def endpoints(version: str, **subset: Any) -> Obj:
    made = obj("v1", "Endpoints", subsets=[subset] if subset else [])
    made["metadata"]["resourceVersion"] = version
    return made


def at(awaiter: Awaiter, now: float, live: Obj | None, *found: Obj) -> bool:
    awaiter.observe(Seen(live, {"Endpoints": found}), now)
    return awaiter.ready


def test_a_service_that_selects_nothing_is_ready_after_ten_seconds_lf22() -> None:
    awaiter, nobody = ServiceAwaiter(SERVICE), endpoints("1")
    assert not at(awaiter, 1, SERVICE, nobody)
    assert not at(awaiter, 10.9, SERVICE, nobody)
    assert at(awaiter, 11, SERVICE, nobody)


def test_a_service_with_an_unready_pod_is_waited_for_and_each_change_settles_anew_lf22() -> None:
    awaiter = ServiceAwaiter(SERVICE)
    waiting, there = endpoints("1", notReadyAddresses=[{}]), endpoints("2", addresses=[{}])
    assert not at(awaiter, 0, SERVICE, waiting)
    assert not at(awaiter, 30, SERVICE, waiting)
    assert not awaiter.at_last()
    assert not at(awaiter, 31, SERVICE, there)
    assert not at(awaiter, 40.9, SERVICE, there)
    assert at(awaiter, 41, SERVICE, there)


@pytest.mark.parametrize(
    "spec", [{"clusterIP": "None", "selector": {"a": "b"}}, {"type": "ExternalName", "selector": {"a": "b"}}, {}]
)
def test_services_without_endpoints_of_their_own_settle_at_once_lf22(spec: Obj) -> None:
    service = obj("v1", "Service", spec=spec)
    assert at(ServiceAwaiter(service), 0, service)


def test_a_service_whose_balancer_has_no_address_says_so() -> None:
    service = obj("v1", "Service", spec={"type": "LoadBalancer", "selector": {"a": "b"}})
    awaiter = ServiceAwaiter(service)
    assert not at(awaiter, 0, service, endpoints("1"))
    assert not at(awaiter, 99, service, endpoints("1"))
    assert not awaiter.at_last()
    assert [text.partition(";")[0] for text in awaiter.reasons()] == [
        "Service does not target any Pods. Selected Pods may not be ready, or field '.spec.selector' may not match "
        "labels on any Pods",
        "Service was not allocated an IP address",
    ]


CLAIM = obj("v1", "PersistentVolumeClaim", spec={"storageClassName": ""}, status={"phase": "Pending"})
VOLUME = obj("v1", "PersistentVolume", status={"phase": "Pending"})


@pytest.mark.parametrize("awaiter", [ClaimAwaiter(CLAIM), VolumeAwaiter(VOLUME)])
def test_claims_and_volumes_take_five_minutes_whatever_the_program_grants_lf20(awaiter: Awaiter) -> None:
    awaiter.observe(Seen(awaiter.live), 1)
    assert not awaiter.late(299, 1)
    assert awaiter.late(300, 9999)
    assert awaiter.timeout_text() == "Timeout occurred polling for 'x'"
    assert awaiter.reasons() == []


def test_why_a_claim_waits_is_a_passing_line_lf20_lf25() -> None:
    static = ClaimAwaiter(CLAIM)
    static.observe(Seen(CLAIM), 1)
    assert static.said == [("warning", 'no storage class found for "x"')]
    fast = {**CLAIM, "spec": {"storageClassName": "fast"}}
    classless = ClaimAwaiter(fast)
    classless.observe(Seen(fast), 1)
    assert classless.said == [("warning", 'getting storagclass "fast": storageclasses.storage.k8s.io "fast" not found')]


def test_a_claim_for_the_first_consumer_is_ready_while_it_waits_and_a_bound_one_after_an_update() -> None:
    late = {"StorageClass": [obj("storage.k8s.io/v1", "StorageClass", volumeBindingMode="WaitForFirstConsumer")]}
    claim = {**CLAIM, "spec": {"storageClassName": "fast"}}
    awaiter = ClaimAwaiter(claim)
    awaiter.observe(Seen(claim, late), 1)
    assert awaiter.ready
    bound = {**claim, "status": {"phase": "Bound"}}
    updated = ClaimAwaiter(bound, before=bound)
    updated.observe(Seen(bound, late), 1)
    assert updated.ready


def test_a_quota_and_a_token_have_their_own_times() -> None:
    quota = obj("v1", "ResourceQuota", spec={"hard": {"pods": "1"}}, status={})
    awaiter: Awaiter = QuotaAwaiter(quota)
    awaiter.observe(Seen(quota), 1)
    assert (awaiter.ready, awaiter.late(60, 999)) == (False, True)
    token = obj("v1", "Secret", type="kubernetes.io/service-account-token")
    awaiter = TokenAwaiter(token)
    awaiter.observe(Seen(token), 1)
    assert (awaiter.ready, awaiter.late(5, 999)) == (False, True)


def test_what_is_polled_and_gone_ends_the_wait() -> None:
    class Empty:
        def get(self, *_: Any) -> None:
            return None

    with pytest.raises(ApiError, match='persistentvolumes "x" not found'):
        VolumeAwaiter(VOLUME).look(Empty(), 1)  # type: ignore[arg-type]


REVISED = {"annotations": {"deployment.kubernetes.io/revision": "2"}}
ROLLED = conditions(("Available", "True")) + conditions(("Progressing", "True"), reason="NewReplicaSetAvailable")


def deployment(observed: int = 2, found: list[Obj] | None = None, volumes: tuple[Obj, ...] = ()) -> Obj:
    made = obj(
        "apps/v1",
        "Deployment",
        spec={"template": {"spec": {"volumes": list(volumes)}}},
        status={"observedGeneration": observed, "conditions": ROLLED if found is None else found},
    )
    made["metadata"] |= {"generation": 2, **REVISED}
    return made


def replica_set(ready: int | None = 1, wanted: int = 1, revision: str = "2") -> Obj:
    status = {} if ready is None else {"readyReplicas": ready}
    made = obj("apps/v1", "ReplicaSet", "x-rs", spec={"replicas": wanted}, status=status)
    made["metadata"] |= {
        "annotations": {"deployment.kubernetes.io/revision": revision},
        "ownerReferences": [{"uid": "uid-x"}],
    }
    return made


UNBOUND = obj("v1", "PersistentVolumeClaim", "weights", status={"phase": "Pending"})


@pytest.mark.parametrize(
    ("live", "beside", "ready"),
    [
        (deployment(), [replica_set()], True),
        (deployment(observed=1), [replica_set()], False),
        (deployment(), [replica_set(ready=None)], False),
        (deployment(), [replica_set(ready=None, wanted=0)], True),
        (deployment(), [replica_set(revision="1")], False),
        (deployment(found=conditions(("Available", "True"))), [replica_set()], False),
        (
            deployment(found=conditions(("Progressing", "True"), reason="NewReplicaSetAvailable")),
            [replica_set()],
            False,
        ),
        (deployment(), [replica_set(), UNBOUND], False),
    ],
)
def test_when_a_deployment_is_ready(live: Obj, beside: list[Obj], ready: bool) -> None:
    awaiter = DeploymentAwaiter(live)
    kinds = {
        kind: [each for each in beside if each["kind"] == kind] for kind in ("ReplicaSet", "PersistentVolumeClaim")
    }
    awaiter.observe(Seen(live, kinds), 1)
    assert awaiter.ready is ready


def test_an_unavailable_deployment_warns_with_the_words_of_its_condition_lf25() -> None:
    missing = conditions(("Available", "False"), reason="MinimumReplicasUnavailable", message="not enough")
    stuck = pod("Ready", message="containers with unready status: [vllm]", containerStatuses=[
        {"name": "vllm", "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no secret"}}}
    ])  # fmt: skip
    stuck["metadata"]["ownerReferences"] = [{"uid": "uid-x-rs"}]
    live = deployment(found=missing)
    awaiter = DeploymentAwaiter(live)
    awaiter.observe(Seen(live, {"ReplicaSet": [replica_set(ready=0)], "Pod": [stuck]}), 1)
    assert ("warning", "[MinimumReplicasUnavailable] not enough") in awaiter.said
    assert awaiter.timeout_text() == "'x' timed out waiting to be Ready"
    assert awaiter.reasons() == [
        "[MinimumReplicasUnavailable] not enough",
        "Minimum number of live Pods was not attained",
        "[Pod n/x-1]: containers with unready status: [vllm][CreateContainerConfigError] no secret",
    ]


def test_when_a_stateful_set_is_ready() -> None:
    status = {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "currentReplicas": 2}
    for revisions, ready in (({"currentRevision": "a", "updateRevision": "a"}, True), ({}, False)):
        live = obj("apps/v1", "StatefulSet", spec={"replicas": 2}, status={**status, **revisions})
        live["metadata"]["generation"] = 1
        awaiter = StatefulSetAwaiter(live)
        awaiter.observe(Seen(live), 1)
        assert awaiter.ready is ready
    assert awaiter.reasons() == ['StatefulSet controller failed to advance from revision "" to revision ""']


def test_a_daemon_set_that_is_late_gives_no_reason_lf25() -> None:
    counts = ("currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady")
    status = {"observedGeneration": 1, "desiredNumberScheduled": 1, **dict.fromkeys(counts, 1)}
    for left_out, ready in ((None, True), *((name, False) for name in counts)):
        live = obj("apps/v1", "DaemonSet", status={key: n for key, n in status.items() if key != left_out})
        live["metadata"]["generation"] = 1
        awaiter = DaemonSetAwaiter(live)
        awaiter.observe(Seen(live), 1)
        assert awaiter.ready is ready
    assert awaiter.timeout_text() == "timed out waiting for the condition"
    assert awaiter.reasons() == []


def test_a_pod_is_ready_when_its_conditions_say_so_and_says_what_it_waits_for() -> None:
    ready = pod()
    awaiter = PodAwaiter(ready)
    awaiter.observe(Seen(ready), 1)
    assert awaiter.ready
    again = {
        "name": "c",
        "lastState": {"terminated": {"reason": "Error", "exitCode": 2, "finishedAt": "T", "message": "m"}},
    }
    crashed = pod("Ready", message="containers with unready status: [c]", containerStatuses=[again])
    awaiter = PodAwaiter(crashed)
    awaiter.observe(Seen(crashed), 1)
    assert awaiter.reasons() == [
        '[Pod n/x-1]: containers with unready status: [c]container "c" terminated at T (Error: exit code 2)\nm'
    ]


@pytest.mark.parametrize("kind", [("v1", "Namespace"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition")])
def test_namespaces_and_definitions_are_not_waited_for(kind: tuple[str, str]) -> None:
    """Who uses them too early is tried again (applying.RETRIES_SECONDS)."""
    assert kind not in awaiting.AWAITERS
