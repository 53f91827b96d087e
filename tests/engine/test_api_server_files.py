"""A real API server with what the first control plane machine is given: Secrets lie encrypted in etcd, and requests
leave a line without what was in them.
"""

import json
from pathlib import Path

import pytest

from components.metal.kubeadm import AUDIT_FILE, ENCRYPTION_FILE
from rehearsal.cluster import ControlPlane
from rehearsal.cluster.components import CONTROLLERS, KWOK, SCHEDULER
from rehearsal.keys import Account, Keys
from rehearsal.processes import StartError
from rehearsal.racks import api_server
from rehearsal.toolchain import ensure
from tests.stacks.test_metal import configuration, files

from .rehearsed import until

pytestmark = pytest.mark.engine

NOWHERE = Account("http://127.0.0.1:1", Keys("AKIATEST", "secret", "word"))
WORDS = "what-nobody-reads-in-etcd"


def plane(place: Path, **changed: str) -> ControlPlane:
    """The control plane of the shipped stack's first machine; `changed` are texts in its files, old ones by new."""
    disk = place / "disk"
    for path, text in files("cp-1").items():
        for old, new in changed.items():
            text = text.replace(old, new)
        (disk / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (disk / path.lstrip("/")).write_text(text)
    flags = api_server.arguments(configuration("cp-1", "ClusterConfiguration"), disk, place / "audit")
    tools = ensure(["etcd", "kubernetes", "kwok"])
    return ControlPlane(place / "plane", "metal", "us-east-1", NOWHERE, tools, furnish=lambda _: None, flags=flags)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a control plane ran in which a Secret was made, a node renewed its lease, and someone read the version."""
    where = tmp_path_factory.mktemp("site")
    made = plane(where)
    made.start()
    try:
        for name in (SCHEDULER, KWOK, CONTROLLERS):
            made.halt(name)
        kube = made.kube()
        named = {"name": "hidden", "namespace": "default"}
        kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": named, "stringData": {"word": WORDS}})
        open_ = {**named, "name": "open"}
        kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": open_, "data": {"word": f"config-{WORDS}"}})
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {**named, "name": "node"}}
        kube.create({**lease, "spec": {"holderIdentity": "node"}})
        found = kube.get("v1", "Secret", "hidden", "default")
        assert found is not None, "it is read as it was"
        kube.close()
        until(lambda: any(each["verb"] == "get" for each in lines(where, "secrets", "hidden")), "the last line")
    finally:
        made.stop()
    return where


def lines(place: Path, resource: str, name: str) -> list[dict[str, object]]:
    """What the audit log has of an object."""
    found = [json.loads(line) for line in (place / "audit/audit.log").read_text().splitlines()]
    return [
        each
        for each in found
        if (each.get("objectRef") or {}).get("resource") == resource and each["objectRef"].get("name") == name
    ]


def test_secrets_lie_encrypted_in_etcd_and_nothing_else_does(place: Path) -> None:
    stored = b"".join(path.read_bytes() for path in (place / "plane/etcd-data").rglob("*") if path.is_file())
    assert f"config-{WORDS}".encode() in stored
    assert stored.replace(f"config-{WORDS}".encode(), b"").count(WORDS.encode()) == 0
    assert b"/registry/secrets/default/hidden" in stored
    assert b"k8s:enc:secretbox:v1:first:" in stored


def test_requests_leave_a_line_without_what_was_in_them(place: Path) -> None:
    written = lines(place, "secrets", "hidden")
    assert {(each["verb"], each["level"], each["stage"]) for each in written} == {
        ("create", "Metadata", "ResponseComplete"),
        ("get", "Metadata", "ResponseComplete"),
    }
    assert WORDS not in (place / "audit/audit.log").read_text()
    assert lines(place, "leases", "node") == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("secretbox:", "secretbocks:", "secretbocks"), ("level: None", "level: Nothing", "Nothing")],
)
def test_the_api_server_ends_over_a_wrong_file(old: str, new: str, words: str, tmp_path: Path) -> None:
    broken = plane(tmp_path, **{old: new})
    with pytest.raises(StartError, match=words):
        broken.start()


def test_a_file_that_no_volume_brings_into_the_pod_is_not_there(tmp_path: Path) -> None:
    told = configuration("cp-1", "ClusterConfiguration")
    told["apiServer"]["extraVolumes"] = [
        each for each in told["apiServer"]["extraVolumes"] if each["mountPath"] != AUDIT_FILE
    ]
    with pytest.raises(StartError, match=f"open {AUDIT_FILE}: no such file"):
        api_server.arguments(told, tmp_path, tmp_path)
    assert ENCRYPTION_FILE in str(told)
