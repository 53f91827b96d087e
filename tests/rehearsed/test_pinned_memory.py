"""What pods of the runs' namespace may ask for, asked of a real API server with the objects that a stack registers."""

from typing import Any

import pytest

from components.platform.pinned_memory import POLICY
from rehearsal.kube.client import ApiError, Kube
from rehearsal.tests.cluster.conftest import Trial, account, eventually, tools, trial
from tests.graph.stackfiles import graph_of

__all__ = ["account", "tools", "trial"]
pytestmark = pytest.mark.engine


def pod(spec: dict[str, Any] | None = None, container: dict[str, Any] | None = None) -> dict[str, Any]:
    """A pod as the fabric needs it, and what is said of it besides."""
    pins = {"capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]}}
    main = {"name": "a", "image": "x", "resources": {"limits": {"cpu": "1"}}, "securityContext": pins}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "rank", "namespace": "training"},
        "spec": {"containers": [{**main, **(container or {})}], **(spec or {})},
    }


def context(**said: Any) -> dict[str, Any]:
    return {"securityContext": said}


@pytest.fixture(scope="module")
def kube(trial: Trial) -> Kube:
    client = trial.plane.kube()
    made = [each for each in graph_of("dev").resources.values() if each.custom]
    wanted = [each for each in made if each.name in ("namespaces-training", "pinned-memory-policy")]
    for each in [*wanted, *(each for each in made if each.name == "pinned-memory-binding")]:
        client.apply(dict(each.inputs), "tests", force=True)
    eventually(lambda: client.get("v1", "ServiceAccount", "default", "training"))
    eventually(lambda: refusal(client, pod({"hostNetwork": True})))
    return client


def refusal(kube: Kube, obj: dict[str, Any]) -> str | None:
    try:
        kube.create(obj, dry_run=True)
    except ApiError as error:
        return str(error)
    return None


INIT = {"name": "b", "image": "x"}
MERGE = "application/strategic-merge-patch+json"


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (pod({"hostNetwork": True}), "remove hostNetwork, hostPID and hostIPC"),
        (pod({"hostPID": True}), "remove hostNetwork"),
        (pod({"hostIPC": True}), "remove hostNetwork"),
        (pod({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), "remove hostPath volumes"),
        (pod(container={"ports": [{"containerPort": 1, "hostPort": 1}]}), "remove hostPort"),
        (pod(container=context(privileged=True)), "remove privileged"),
        (pod({"initContainers": [{**INIT, **context(privileged=True)}]}), "remove privileged"),
        (pod(container=context(capabilities={"add": ["SYS_ADMIN"]})), "remove the other capabilities"),
        (pod(container=context(capabilities={"add": ["NET_RAW"]})), "remove the other capabilities"),
        (pod(context(seccompProfile={"type": "Unconfined"})), "remove Unconfined"),
        (pod(container=context(appArmorProfile={"type": "Unconfined"})), "remove Unconfined"),
        (pod(context(seLinuxOptions={"type": "spc_t"})), "remove seLinuxOptions"),
        (pod(context(sysctls=[{"name": "kernel.msgmax", "value": "1"}])), "remove sysctls"),
    ],
)
def test_what_is_beyond_baseline_and_pinned_memory_is_refused_y15(kube: Kube, obj: dict[str, Any], said: str) -> None:
    refused = refusal(kube, obj)
    assert refused is not None
    assert POLICY in refused
    assert said in refused


@pytest.mark.parametrize(
    "obj",
    [
        pod(),
        pod({"initContainers": [INIT]}),
        pod(container={"ports": [{"containerPort": 8000}]}),
        pod(context(seccompProfile={"type": "RuntimeDefault"}, seLinuxOptions={"type": "container_t"})),
        pod(context(sysctls=[{"name": "net.ipv4.tcp_syncookies", "value": "1"}])),
        pod({"volumes": [{"name": "v", "emptyDir": {}}]}),
    ],
)
def test_a_pod_of_the_fabric_is_let_in_y15(kube: Kube, obj: dict[str, Any]) -> None:
    assert refusal(kube, obj) is None


def test_a_container_that_comes_later_is_held_to_the_same_y15(kube: Kube) -> None:
    """As `kubectl debug` adds one to a pod that was let in."""
    kube.create({**pod(), "metadata": {"name": "debugged", "namespace": "training"}})
    added = {"spec": {"ephemeralContainers": [{**INIT, **context(privileged=True)}]}}
    with pytest.raises(ApiError, match="remove privileged"):
        kube.patch("v1", "Pod", "debugged", "training", added, "ephemeralcontainers", MERGE)
