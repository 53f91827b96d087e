"""A real control plane: up quickly, users through real EKS tokens, webhooks through the cluster's network, nodes."""

import base64
import functools
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal import places
from rehearsal.cluster import ControlPlane
from rehearsal.cluster.access import DEPLOYER_KEY, DEPLOYER_SECRET
from rehearsal.cluster.components import NAMES
from rehearsal.cluster.pki import Authority
from rehearsal.kube.client import ApiError, Kube
from rehearsal.processes import Identity, StartError
from rehearsal.toolchain import Tools, crds

from .conftest import CLUSTER, REGION, Trial, eventually

pytestmark = pytest.mark.engine
ADMIN_POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


@pytest.fixture(scope="module")
def kube(trial: Trial) -> Kube:
    return trial.plane.kube()


@pytest.fixture(scope="module")
def eks_cluster(trial: Trial) -> str:
    """The account's EKS cluster that the control plane belongs to; nobody has access yet."""
    ec2, iam, eks = trial.aws("ec2"), trial.aws("iam"), trial.aws("eks")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{i}.0/24", AvailabilityZone=f"{REGION}{zone}")["Subnet"]
        for i, zone in enumerate("ab")
    ]
    role = iam.create_role(RoleName="control-plane", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    iam.attach_role_policy(RoleName="control-plane", PolicyArn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy")
    eks.create_cluster(
        name=CLUSTER,
        roleArn=role,
        resourcesVpcConfig={"subnetIds": [subnet["SubnetId"] for subnet in subnets]},
        accessConfig={"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
    )
    return CLUSTER


def token(cloud_url: str, cluster: str = CLUSTER) -> str:
    """What the real `aws eks get-token` prints."""
    aws = Path(sys.executable).parent / "aws"
    command = [str(aws), "eks", "get-token", "--cluster-name", cluster, "--region", REGION]
    env = {"PATH": os.environ["PATH"], "AWS_ACCESS_KEY_ID": DEPLOYER_KEY, "AWS_SECRET_ACCESS_KEY": DEPLOYER_SECRET}
    run = subprocess.run(command, env=env | {"AWS_ENDPOINT_URL": cloud_url}, capture_output=True, text=True, check=True)
    return str(json.loads(run.stdout)["status"]["token"])


def as_user(trial: Trial, bearer: str) -> Kube:
    authority = base64.b64encode(trial.plane.ca).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": trial.plane.endpoint, "certificate-authority-data": authority}}
        ],
        "users": [{"name": "u", "user": {"token": bearer}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    return Kube.from_kubeconfig(json.dumps(config))


def outcome(trial: Trial, cluster: str = CLUSTER) -> int:
    """The status of listing namespaces as the deployer, with a token for this cluster."""
    try:
        names = {
            each["metadata"]["name"] for each in as_user(trial, token(trial.cloud_url, cluster)).list("v1", "Namespace")
        }
    except ApiError as error:
        return error.code
    assert {"default", "kube-system"} <= names
    return 200


def test_access_is_what_the_access_entries_say(trial: Trial, eks_cluster: str) -> None:
    eks, session = trial.aws("eks"), trial.aws("sts").get_caller_identity()["Arn"]
    arn = trial.aws("iam").get_role(RoleName=session.split("/")[1])["Role"]["Arn"]
    assert outcome(trial) == 401

    # The API server keeps an answer for some seconds, and two tokens of one second are the same.
    eks.create_access_entry(clusterName=eks_cluster, principalArn=arn)
    eventually(lambda: outcome(trial) == 403)

    eks.associate_access_policy(
        clusterName=eks_cluster, principalArn=arn, policyArn=ADMIN_POLICY, accessScope={"type": "cluster"}
    )
    eventually(lambda: outcome(trial) == 200)
    assert outcome(trial, "another") == 401

    eks.delete_access_entry(clusterName=eks_cluster, principalArn=arn)
    eventually(lambda: outcome(trial) == 401)


def test_a_new_cluster_holds_what_eks_puts_into_it(kube: Kube) -> None:
    assert kube.get("v1", "ServiceAccount", "default", "default") is not None
    gp2 = kube.get("storage.k8s.io/v1", "StorageClass", "gp2")
    assert gp2 is not None
    assert "storageclass.kubernetes.io/is-default-class" not in gp2["metadata"].get("annotations", {})


def listening(pid: int) -> set[str]:
    """The local addresses, as in /proc/net, on which a process listens over TCP."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        name = str(entry.readlink())
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.add(fields[1].partition(":")[0])
    return found


def test_everything_listens_on_loopback_only(trial: Trial) -> None:
    pids = {name: trial.plane.pid(name) for name in NAMES}
    assert all(pids.values()), pids
    heard = {name: listening(pid) for name, pid in pids.items() if pid}
    assert heard.pop("kube-apiserver") == {"0100007F"}
    assert set().union(*heard.values()) == set(), heard


def node(name: str) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "32Gi", "pods": "50"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": room, "allocatable": room},
    }


def ready(kube: Kube, name: str) -> bool:
    found = kube.get("v1", "Node", name) or {}
    conditions = found.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def test_a_node_becomes_ready_keeps_its_lease_and_its_capacity_and_pods_go_when_deleted(kube: Kube) -> None:
    kube.create(node("one"))
    eventually(lambda: ready(kube, "one"))
    found = kube.get("v1", "Node", "one")
    assert found is not None
    assert found["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "50"}
    eventually(lambda: kube.get("coordination.k8s.io/v1", "Lease", "one", "kube-node-lease"))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    kube.create(pod)
    placed = eventually(lambda: (kube.get("v1", "Pod", "p", "default") or {})["spec"].get("nodeName"))
    assert placed == "one"
    assert (kube.get("v1", "Pod", "p", "default") or {})["status"]["phase"] == "Pending", "its life is the kubelet's"
    kube.delete(pod)
    eventually(lambda: kube.get("v1", "Pod", "p", "default") is None)


@pytest.mark.parametrize(
    ("name", "some"),
    [
        ("training-operator", {"kubeflow.org_pytorchjobs"}),
        ("volcano", {"scheduling.volcano.sh_podgroups", "scheduling.volcano.sh_queues", "batch.volcano.sh_jobs"}),
        ("prometheus-operator", {"monitoring.coreos.com_servicemonitors", "monitoring.coreos.com_prometheuses"}),
    ],
)
def test_generated_crds_are_accepted_and_served(kube: Kube, name: str, some: set[str]) -> None:
    files = crds(name)
    assert some <= {path.stem for path in files}
    definitions = [yaml.safe_load(path.read_text()) for path in files]
    for definition in definitions:
        kube.create(definition)

    def established(crd: str) -> bool:
        found = kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd) or {}
        conditions = {each["type"]: each["status"] for each in found.get("status", {}).get("conditions") or []}
        return conditions.get("Established") == "True" and conditions.get("NamesAccepted") == "True"

    for definition in definitions:
        eventually(functools.partial(established, definition["metadata"]["name"]))


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[tuple[int, bytes, list[str]]]:
    """A validating webhook's process: its port, its CA, the names it was asked about. It denies the name bad."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = review["request"]["name"]
            asked.append(name)
            response = {"uid": review["request"]["uid"], "allowed": name != "bad", "status": {"message": "it is bad"}}
            body = json.dumps(
                {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    authority = Authority("hook")
    pair = authority.server("hook", ["hook.hooks.svc"])
    (tmp_path / "crt").write_bytes(pair.certificate)
    (tmp_path / "key").write_bytes(pair.key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], authority.certificate, asked
    server.shutdown()
    server.server_close()


def hook_objects(ca: bytes) -> list[dict[str, Any]]:
    """A Service `hook`, its pod `hook-0`, and the configuration that has ConfigMaps of namespace hooks validated."""
    where = {"namespace": "hooks"}
    service = {"ports": [{"name": "https", "port": 443, "targetPort": 9443}], "selector": {"app": "hook"}}
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 9443}]}
    client = {"service": {"namespace": "hooks", "name": "hook"}, "caBundle": base64.b64encode(ca).decode()}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    webhook = {
        "name": "hook.example.com",
        "clientConfig": client,
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hooks"}},
        "objectSelector": {"matchLabels": {"hooked": "yes"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "timeoutSeconds": 5,
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hooks"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook", **where}, "spec": service},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "hook-0", **where, "labels": {"app": "hook"}},
            "spec": {"nodeName": "hook-node", "containers": [container]},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hook"},
            "webhooks": [webhook],
        },
    ]


def config_map(name: str) -> dict[str, Any]:
    labels = {"hooked": "yes"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "hooks", "labels": labels}}


def test_a_webhook_behind_a_cluster_ip_service_is_reached_and_only_while_its_pod_is_ready(
    trial: Trial, kube: Kube, hook: tuple[int, bytes, list[str]]
) -> None:
    port, ca, asked = hook
    kube.create(node("hook-node"))
    for each in hook_objects(ca):
        if each["kind"] == "Pod":
            eventually(lambda: kube.get("v1", "ServiceAccount", "default", "hooks"))
        kube.create(each)

    def refusal(name: str) -> str:
        """Why the ConfigMap is refused; empty while it is let through (the configuration takes a moment to be seen)."""
        try:
            kube.create(config_map(name), dry_run=True)
        except ApiError as error:
            return f"{error.code} {error}"
        return ""

    assert 'failed calling webhook "hook.example.com"' in eventually(lambda: refusal("early"))
    assert asked == []

    running = {
        "phase": "Running",
        "podIP": "10.0.7.7",
        "podIPs": [{"ip": "10.0.7.7"}],
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
    }
    kube.patch("v1", "Pod", "hook-0", "hooks", {"status": running}, subresource="status")
    trial.plane.backends.add("hooks", "hook-0", 9443, port)
    eventually(lambda: not refusal("good"))
    assert set(asked) == {"good"}
    assert "it is bad" in refusal("bad")

    trial.plane.backends.remove("hooks", "hook-0")
    kube.delete(hook_objects(ca)[-1])


def test_a_killed_api_server_comes_back_with_its_data(trial: Trial, kube: Kube) -> None:
    plane = trial.plane
    marker = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "default"}}
    kube.create(marker)
    before = plane.pid("kube-apiserver")
    assert before is not None
    os.kill(before, signal.SIGKILL)
    eventually(lambda: not plane.healthy())

    def tended() -> bool:
        plane.tend()
        return plane.healthy()

    eventually(tended)
    after = Identity.from_record(places.read_json(plane.record)["kube-apiserver"])  # type: ignore[index]
    assert after is not None
    assert after.alive()
    assert plane.pid("kube-apiserver") == after.pid != before
    assert kube.get("v1", "ConfigMap", "kept", "default") is not None


def test_a_restarted_store_keeps_its_data(trial: Trial, kube: Kube) -> None:
    trial.plane.restart("etcd")
    assert eventually(lambda: kube.get("v1", "ConfigMap", "kept", "default"))


def test_a_cluster_is_up_in_seconds_and_leaves_no_process(tools: Tools, cloud_url: str, tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path, "another", REGION, cloud_url, tools)
    begun = time.monotonic()
    plane.start()
    took = time.monotonic() - begun
    identities = [Identity.of(pid) for name in NAMES if (pid := plane.pid(name))]
    plane.stop()
    assert len(identities) == len(NAMES)
    assert not any(identity.alive() for identity in identities if identity)
    assert took < 20


def test_a_port_that_somebody_took_is_left_to_them(
    tools: Tools, cloud_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((places.LOOPBACK, 0)) as somebody:
        taken, free = somebody.getsockname()[1], places.free_port()
        ports = [taken, free]
        monkeypatch.setattr(places, "free_port", lambda: ports.pop(0))
        plane = ControlPlane(tmp_path, "unlucky", REGION, cloud_url, tools)
        plane.start()
        try:
            assert plane.endpoint.endswith(f":{free}")
            assert plane.kube().get("v1", "Namespace", "default")
        finally:
            plane.stop()


def test_a_component_that_cannot_start_is_named_with_its_last_lines(
    tools: Tools, cloud_url: str, tmp_path: Path
) -> None:
    plane = ControlPlane(tmp_path, "broken", REGION, cloud_url, tools)
    (tmp_path / "etcd-data").write_text("not a directory")
    with pytest.raises(StartError, match=r"(?s)etcd of cluster broken ended with status 1:.*etcd-data"):
        plane.start()
    assert not any(plane.pid(name) for name in ("etcd", "kube-apiserver"))
    shutil.rmtree(tmp_path)
