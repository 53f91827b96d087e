"""Real processes in containers: their files, volumes they share, and what is left of them."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.pages import texts
from rehearsal.eks import nodeserver
from rehearsal.kubelet.process import CURRENT, FILES, KUBECONFIG, RealProcess
from rehearsal.kubelet.program import VOLUMES, Launch, Mount
from rehearsal.tests.inside.account import until

IDENTITY = "/var/run/secrets/kubernetes.io/serviceaccount"
SOURCES = [
    {"serviceAccountToken": {"path": "token"}},
    {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
]
POD = {
    "metadata": {"name": "p", "namespace": "n", "uid": "u"},
    "spec": {
        "volumes": [
            {"name": "config", "secret": {"secretName": "config"}},
            {"name": "optional", "secret": {"secretName": "config", "optional": True}},
            {"name": "shared", "emptyDir": {}},
            {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
            {"name": "identity", "projected": {"sources": SOURCES}},
        ]
    },
}
MOUNTS = (
    Mount("/etc/config", "pod:u:config", name="config"),
    Mount("/etc/optional", "pod:u:optional", name="optional"),
    Mount("/etc/config/out", "pod:u:shared", name="shared"),
    Mount("/data", "csi:ebs.csi.aws.com:vol-1", name="disk", sub_path="db"),
    Mount(IDENTITY, "pod:u:identity", name="identity"),
)
Run = Callable[..., RealProcess]


class Cluster:
    """An API server that gives tokens, and the Secret that the pod mounts."""

    def __init__(self) -> None:
        self.there = True
        self.secret = {"plain": b"one", "packed": bytes(range(256))}

    def path(self, *parts: str) -> str:
        return "/".join(parts)

    def call(self, *_: Any) -> dict[str, Any]:
        return {"status": {"token": "t0k3n"}}

    def find(self, store: str, name: str, _namespace: str) -> dict[str, Any] | None:
        data = {key: base64.b64encode(held).decode() for key, held in self.secret.items()}
        return {"kind": "Secret", "data": data} if self.there and (store, name) == ("secrets", "config") else None


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def run(tmp_path: Path, cluster: Cluster) -> Iterator[Run]:
    """Runs a shell's command as a container of the pod."""
    world: Any = SimpleNamespace(
        kube=cluster, find=cluster.find, backends=Backends(), directory=tmp_path, endpoint="https://x", ca=b""
    )
    begun: list[RealProcess] = []

    def start(container: str, command: str, number: int = 0, **more: Any) -> RealProcess:
        directory = tmp_path / "pods" / "p" / container / str(number)
        launch = Launch(world, POD, {"name": container}, "a", (), (), {}, MOUNTS, directory, print, 0.0)
        made = RealProcess(launch, Path("/bin/sh"), ["-c", command], {}, {}, **more)
        begun.append(made)
        return made

    yield start
    for each in begun:
        each.close()
    world.backends.close()


def done(process: RealProcess) -> None:
    ended = until(lambda: process.exited(0.0), 10, "the process ends")
    assert ended.code == 0, ended.message


def test_a_secrets_bytes_lie_in_its_files_and_go_with_its_keys(run: Run, cluster: Cluster, tmp_path: Path) -> None:
    process = run("one", "sleep 20")
    files = tmp_path / "pods/p/one/0" / FILES / "etc/config"
    assert (files / "packed").read_bytes() == bytes(range(256))
    cluster.secret = {"plain": b"two"}
    process.refresh_files()
    assert (files / "plain").read_bytes() == b"two"
    assert not (files / "packed").exists()
    cluster.secret = {}
    process.refresh_files()
    assert list(files.iterdir()) == [files / "out"]
    done(run("two", "test -d /etc/config"))


def test_files_are_converted_when_they_change_and_not_with_every_change_around_them(
    run: Run, cluster: Cluster, tmp_path: Path
) -> None:
    asked: list[bytes] = []

    def convert(path: str, held: bytes) -> bytes:
        if path == "/etc/config/plain":
            asked.append(held)
        return held.upper()

    process = run("one", "sleep 20", convert=convert)
    process.refresh_files()
    cluster.secret = {"plain": b"two"}
    process.refresh_files()
    process.refresh_files()
    assert asked == [b"one", b"two"]
    assert (tmp_path / "pods/p/one/0" / FILES / "etc/config/plain").read_bytes() == b"TWO"
    cluster.secret = {}
    process.refresh_files()
    cluster.secret = {"plain": b"two"}
    process.refresh_files()
    assert asked == [b"one", b"two", b"two"], "a file that went comes back"


def test_a_secret_that_must_be_there_leaves_its_files_when_it_goes_and_an_optional_one_does_not(
    run: Run, cluster: Cluster, tmp_path: Path
) -> None:
    process = run("one", "sleep 20")
    (main, optional) = (tmp_path / "pods/p/one/0" / FILES / path for path in ("etc/config/plain", "etc/optional/plain"))
    assert (main.exists(), optional.exists()) == (True, True)
    cluster.there = False
    process.refresh_files()
    assert (main.exists(), optional.exists()) == (True, False)


def test_containers_of_a_pod_share_its_volumes(run: Run, tmp_path: Path) -> None:
    done(run("one", "cat /etc/config/plain > /etc/config/out/x; echo kept > /data/y"))
    done(run("two", "test $(cat /etc/config/out/x) = one && test $(cat /data/y) = kept"))
    assert (tmp_path / "pods/p" / VOLUMES / "shared/x").read_text() == "one"
    (kept,) = tmp_path.glob(f"{VOLUMES}/*/db/y")
    assert kept.read_text() == "kept\n"


def test_a_process_knows_who_it_is(run: Run) -> None:
    done(run("one", f"test $(cat {IDENTITY}/token) = t0k3n && test $(cat {IDENTITY}/namespace) = n"))


def test_the_newest_run_is_found_at_one_place(run: Run, tmp_path: Path) -> None:
    for number in range(2):
        done(run("one", "true", number))
        assert (tmp_path / "pods/p/one" / CURRENT).resolve().name == str(number)
    assert "t0k3n" in (tmp_path / "pods/p/one" / CURRENT / KUBECONFIG).read_text()


def test_a_process_that_is_to_end_is_asked_and_left_until_it_has(run: Run, tmp_path: Path) -> None:
    process = run("slow", "trap 'sleep 0.5; exit 0' TERM; touch up; while :; do sleep 0.1; done")
    until(lambda: list(tmp_path.rglob("up")), 10, "the process has its trap")
    assert not process.leaves()
    assert not process.leaves()
    until(process.leaves, 10, "the process has ended")
    done(process)


def test_files_can_be_made_fit_for_this_machine(run: Run) -> None:
    def convert(path: str, held: bytes) -> bytes:
        return held.upper() if path == "/etc/config/plain" else held

    done(run("one", "test $(cat /etc/config/plain) = ONE", convert=convert))


@pytest.mark.parametrize(("path", "refusal"), [("/", None), ("/no", "HTTP probe failed with statuscode: 404")])
@pytest.mark.parametrize("scheme", ["HTTP", "HTTPS"])
def test_a_probe_believes_any_certificate(
    cluster: Cluster, tmp_path: Path, scheme: str, path: str, refusal: str | None
) -> None:
    (tmp_path / "pki").mkdir()
    tls = nodeserver.certificate(tmp_path / "pki") if scheme == "HTTPS" else None
    backends = Backends()
    backends.answer("n", "server", 1, texts({"/": lambda: ""}), tls=tls)
    address = backends.find("n", "server", 1)
    assert address is not None
    world: Any = SimpleNamespace(
        kube=cluster, find=cluster.find, backends=backends, directory=tmp_path, endpoint="", ca=b""
    )
    launch = Launch(world, POD, {"name": "c"}, "a", (), (), {}, (), tmp_path / "pods/p/c/0", print, 0.0)
    process = RealProcess(launch, Path("/bin/sleep"), ["20"], {8443: address[1]}, {})
    assert process.refuses({"httpGet": {"path": path, "scheme": scheme}}, 8443, 0.0) == refusal
    assert "connection refused" in (process.refuses({"httpGet": {"path": path}}, 9, 0.0) or "")
    process.close()
    backends.close()
