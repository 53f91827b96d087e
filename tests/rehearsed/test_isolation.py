"""What isolates broken nodes, with its own rights before a real API server: what it may change, and what not (U05)."""

import base64
import ssl
import time
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from isolate import WHY, Isolation
from publish import Api

from rehearsal.kube.client import Kube
from rehearsal.tests.cluster.conftest import Trial, account, eventually, node, tools, trial
from tests.components.samples import SAMPLES, built

__all__ = ["account", "tools", "trial"]
pytestmark = pytest.mark.engine

ORDER = ("ServiceAccount", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
GATE = {"gpucluster/gate": "pass", "gpucluster/gate-driver": "580"}
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def admin(trial: Trial) -> Kube:
    """The cluster with what the component registers, without its pod, and two nodes: one of a pool, one of none."""
    client = trial.plane.kube()
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}}, "tests")
    made = [each for each in built(SAMPLES["isolation"]).resources.values() if each.name.startswith("sample-")]
    chosen = [each for each in made if each.kind not in ("Deployment", "ConfigMap")]
    for each in sorted(chosen, key=lambda one: ORDER.index(one.kind) if one.kind in ORDER else len(ORDER)):
        client.apply(dict(each.inputs), "tests", force=True)
    for name, labels in (("gpu-0", {"gpucluster/pool": "training", **GATE}), ("stranger", {})):
        made_node = node(name)
        made_node["metadata"]["labels"] = {**made_node["metadata"].get("labels", {}), **labels}
        made_node["spec"] = {"taints": [TAINT]}
        client.apply(made_node, "tests", force=True)
    return client


@pytest.fixture(scope="module")
def api(admin: Kube, trial: Trial) -> Api:
    """The API server as the pod's account reaches it, once its rights are in force."""
    path = "/api/v1/namespaces/monitoring/serviceaccounts/isolation/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = admin.call("POST", path, asked)["status"]["token"]
    cluster = yaml.safe_load(trial.plane.admin_kubeconfig.read_text())["clusters"][0]["cluster"]
    # Without the administrator's certificate, which would count before the token.
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    found = Api(cluster["server"], token, "monitoring", ssl.create_default_context(cadata=authority))
    eventually(lambda: _refused(found, "stranger", {"metadata": {"annotations": {"a": "b"}}}))
    return found


def _refused(api: Api, name: str, body: Mapping[str, Any]) -> str:
    """The server's sentence; nothing where it does as it is asked."""
    try:
        api.patch(f"/api/v1/nodes/{name}?dryRun=All", body)
    except OSError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("stranger", {"spec": {"unschedulable": True}}, "the node belongs to a pool"),
        ("gpu-0", {"metadata": {"labels": {"gpucluster/gate": "fail"}}}, "of the labels it takes away"),
        ("gpu-0", {"metadata": {"labels": {"gpucluster/pool": None}}}, "of the labels it takes away"),
        ("gpu-0", {"metadata": {"labels": {"new": "one"}}}, "of the labels it takes away"),
        ("gpu-0", {"spec": {"taints": None}}, "whether new pods come"),
        ("gpu-0", {"spec": {"taints": [TAINT, {"key": "a", "effect": "NoExecute"}]}}, "whether new pods come"),
    ],
)
def test_it_changes_whether_new_pods_come_and_nothing_else(api: Api, name: str, body: Any, why: str) -> None:
    assert why in _refused(api, name, body)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/namespaces/monitoring/secrets"),
        ("GET", "/api/v1/namespaces/training/pods"),
        ("DELETE", "/api/v1/nodes/gpu-0"),
        ("GET", "/api/v1/namespaces/default/events"),
    ],
)
def test_it_may_nothing_besides(api: Api, method: str, path: str) -> None:
    with pytest.raises(OSError, match="is forbidden"):
        api.ask(method, path)


def test_a_node_is_cordoned_with_its_reason_and_comes_back_to_be_measured_again(api: Api, admin: Kube) -> None:
    sick: dict[str, frozenset[str]] = {"gpu-0": frozenset({"gpu-memory"})}
    isolation = Isolation(api, ["training"], 1, 1.0, lambda: sick)
    isolation.look()
    found = admin.get("v1", "Node", "gpu-0") or {}
    assert found["spec"]["unschedulable"] is True
    assert found["metadata"]["annotations"][WHY] == "gpu-memory"
    assert found["metadata"]["labels"].items() >= GATE.items()
    events = admin.call("GET", "/api/v1/namespaces/default/events", fieldSelector="involvedObject.uid=gpu-0")["items"]
    assert [(each["reason"], each["type"]) for each in events] == [("Isolated", "Warning")]
    _ready(admin, found)
    sick.clear()
    isolation.look()
    time.sleep(1.0)
    isolation.look()
    found = admin.get("v1", "Node", "gpu-0") or {}
    assert "unschedulable" not in found["spec"]
    assert WHY not in found["metadata"].get("annotations", {})
    assert not GATE.keys() & found["metadata"]["labels"].keys()
    assert TAINT in found["spec"]["taints"]


def _ready(admin: Kube, found: Mapping[str, Any]) -> None:
    """No kubelet says of the node that it is ready."""
    status = {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}
    path = f"/api/v1/nodes/{found['metadata']['name']}/status"
    admin.call("PATCH", path, {"status": status}, content_type="application/merge-patch+json")
