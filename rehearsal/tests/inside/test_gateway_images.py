"""How Traefik's and cert-manager's containers become processes of this machine: nothing off loopback, nothing lost."""

import ipaddress
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.images import gateway
from rehearsal.images.table import known
from rehearsal.kubelet.process import free_host
from rehearsal.tests.inside.simulated import Node

TRAEFIK = [
    "--entryPoints.metrics.address=:9100/tcp",
    "--entryPoints.traefik.address=:8080/tcp",
    "--entryPoints.web.address=:8000/tcp",
    "--entryPoints.websecure.address=:8443/tcp",
    "--entryPoints.web.transport.respondingTimeouts.readTimeout=300s",
    "--providers.kubernetesgateway",
]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a container's process would be started with, by its image, container and arguments."""
    node = Node(tmp_path)
    node.world.tools = {"traefik": Path("/t/traefik"), "cert-manager": Path("/t/cert-manager")}
    node.world.proxy = SimpleNamespace(socks="socks5://127.0.0.1:1")
    seen: dict[str, Any] = {}

    def real(_: Any, binary: Path, argv: list[str], ports: Any, env: Any, **more: Any) -> Any:
        seen.update(binary=binary, argv=list(argv), ports=dict(ports), env=env, **more)
        return SimpleNamespace()

    monkeypatch.setattr(gateway, "RealProcess", real)

    def start(image: str, container: str, args: list[str]) -> dict[str, Any]:
        known().start(node.launch(spec={"name": container, "image": image}, args=args))
        return seen

    return start


def test_traefik_keeps_its_ports_on_an_address_of_its_own(started: Any) -> None:
    """The Gateway's listeners are found by them, and two pods are on one machine."""
    found = started("docker.io/traefik:v3.7.13", "traefik", TRAEFIK)
    host = found["host"]
    assert ipaddress.ip_address(host).is_loopback
    assert host != "127.0.0.1"
    assert found["argv"][:4] == [
        f"--entryPoints.metrics.address={host}:9100",
        f"--entryPoints.traefik.address={host}:8080",
        f"--entryPoints.web.address={host}:8000",
        f"--entryPoints.websecure.address={host}:8443",
    ]
    assert found["argv"][4:] == TRAEFIK[4:]
    assert found["ports"] == {port: port for port in (9100, 8080, 8000, 8443)}
    assert found["env"]["HTTP_PROXY"] == "socks5://127.0.0.1:1"
    assert found["env"]["KUBERNETES_SERVICE_HOST"] == ""


def test_an_address_is_one_where_all_ports_are_free() -> None:
    first = free_host([28123, 28124])
    with socket.socket() as taken:
        taken.bind((first, 28124))
        others = {free_host([28123, 28124]) for _ in range(20)}
    assert first not in others
    assert all(ipaddress.ip_address(each) in ipaddress.ip_network("127.0.0.0/8") for each in others)


@pytest.mark.parametrize(
    ("program", "ports", "flags"),
    [
        ("controller", {9402, 9403}, ("--metrics-listen-address", "--internal-healthz-listen-address")),
        ("webhook", {10250, 6080, 9402}, ("--secure-port", "--healthz-port", "--metrics-listen-address")),
        ("cainjector", {9402}, ("--metrics-listen-address",)),
    ],
)
def test_cert_managers_programs_are_told_apart_by_their_images(
    started: Any, program: str, ports: set[int], flags: tuple[str, ...]
) -> None:
    args = ["--v=2", *(["--secure-port=10250"] if program == "webhook" else [])]
    found = started(f"quay.io/jetstack/cert-manager-{program}:v1.21.1", f"cert-manager-{program}", args)
    assert found["argv"][:2] == [program, "--v=2"]
    assert set(found["ports"]) == ports
    assert "--kubeconfig=kubeconfig" in found["argv"]
    given = {word.partition("=")[0]: word.partition("=")[2] for word in found["argv"]}
    assert set(flags) <= set(given)
    assert all(value.isdigit() or value.startswith("127.0.0.1:") for flag, value in given.items() if flag in flags)
    assert "10250" not in given.values()


def test_the_check_of_the_api_looks_from_its_own_namespace(started: Any) -> None:
    image = "quay.io/jetstack/cert-manager-startupapicheck:v1.21.1"
    found = started(image, "cert-manager-startupapicheck", ["check", "api", "--wait=1m", "-v"])
    expected = ["startupapicheck", "--wait=1m", "-v", "--kubeconfig=kubeconfig", "--namespace=ns"]
    assert (found["argv"], found["ports"]) == (expected, {})
