"""What a person types to load and break a rehearsal, and what is refused."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal import places, sites
from rehearsal.command import ordering
from rehearsal.command.errors import CommandError
from rehearsal.command.main import main, parser
from rehearsal.command.ordering import Cluster
from rehearsal.kube.client import Kube
from rehearsal.kubelet import faults, orders
from rehearsal.kubelet.orders import Fault, Load

NAME = "ip-10-0-0-5.ec2.internal"


def node(**more: str) -> dict[str, Any]:
    capacity = {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "2"}
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", **more}
    return {"metadata": {"name": NAME, "labels": labels}, "status": {"capacity": capacity}}


def service(name: str, namespace: str = "inference", **selector: str) -> dict[str, Any]:
    chosen = {"selector": selector or {"app": name}} if name != "kubernetes" else {}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": chosen}


def cluster(*services: dict[str, Any], orders: Path = Path("orders.json")) -> Cluster:
    kube: Any = SimpleNamespace(
        list=lambda _, kind: list(services) if kind == "Service" else [node()],
        get=lambda _version, _kind, name: node() if name == NAME else None,
        close=lambda: None,
    )
    return Cluster("us-east-2/dev", kube, orders)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rehearsal that runs, with one cluster of two services; the path of its orders."""
    program = tmp_path / "program"
    program.mkdir()
    (program / "Pulumi.yaml").write_text("name: trial\nruntime: python\n")
    monkeypatch.setenv("GPUCLUSTER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(program)
    directory = places.site("dev", program).create()
    kubeconfig = directory.cluster("us-east-2", "dev") / "kubeconfig"
    kubeconfig.parent.mkdir(parents=True)
    kubeconfig.write_text("")
    running = sites.Status(sites.State.RUNNING, "running since today")
    monkeypatch.setattr(sites, "status", lambda _: running)
    there = cluster(service("llama"), service("code"), service("kubernetes", "default"))
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda _: there.kube)
    return kubeconfig.with_name(orders.FILE)


def test_a_load_is_offered_for_its_seconds_and_ends_with_none(
    site: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["load", "llama", "--rps", "20", "--seconds", "60"]) == 0
    (load,) = orders.read(site).loads
    assert (load.namespace, load.service, dict(load.selector), load.rps) == ("inference", "llama", {"app": "llama"}, 20)
    assert load.until == pytest.approx(time.time() + 60, abs=5)
    assert "20 requests a second on Service inference/llama until" in capsys.readouterr().out
    directory = places.site("dev", tmp_path / "program")
    assert [each.partition(" until")[0] for each in ordering.present(directory)] == [
        "20 requests a second on Service inference/llama"
    ]
    assert main(["load", "inference/llama", "--rps", "0"]) == 0
    assert "no load on inference/llama" in capsys.readouterr().out
    assert ordering.present(directory) == []


def test_a_node_is_broken_and_mended(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fail", NAME, "gpu-unavailable", "--gpu", "3"]) == 0
    assert main(["fail", NAME, "oom"]) == 0
    first, second = orders.read(site).faults
    assert (first.kind, first.gpu, first.lasts) == ("gpu-unavailable", 3, True)
    assert (second.kind, second.lasts) == ("oom", False)
    capsys.readouterr()
    assert main(["heal", NAME, "nvlink"]) == 0
    assert main(["heal", NAME]) == 0
    assert main(["heal", NAME]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [f"{NAME}: nothing to mend", f"{NAME}: gpu-unavailable", f"{NAME}: nothing to mend"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["load", "lama", "--rps", "1"],
            "there is no Service lama; those that select pods are inference/code, inference/llama",
        ),
        (["fail", "ip-1", "oom"], f"there is no node ip-1; the nodes are {NAME}"),
        (["fail", NAME, "pcie", "--gpu", "8"], "has 8 GPUs, so there is no GPU 8"),
        (["fail", NAME, "ib-link", "--target", "mlx5_0"], "has no fabric device mlx5_0; it has rdmap16s27, rdmap17s27"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(
    site: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(words) == 1
    assert said in capsys.readouterr().err
    assert orders.read(site) == orders.Ordered()


def test_without_a_rehearsal_the_command_says_what_starts_one(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sites, "status", lambda _: sites.Status(sites.State.ABSENT, "no rehearsal"))
    assert main(["load", "llama", "--rps", "1"]) == 1
    assert "`rehearse up --stack dev` starts one" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["load", "x", "--rps", "-1"], ["load", "x"], ["fail", NAME, "meteor"]])
def test_nonsense_is_refused_by_the_parser(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(words)
    assert "usage" in capsys.readouterr().err


def test_a_name_of_two_services_needs_its_namespace() -> None:
    there = [cluster(service("llama"), service("llama", "other"))]
    with pytest.raises(CommandError, match="several Services: inference/llama, other/llama"):
        ordering.chosen(there, "llama")
    assert ordering.chosen(there, "other/llama")[1]["metadata"]["namespace"] == "other"
    with pytest.raises(CommandError, match="select pods are none"):
        ordering.chosen([cluster(service("coredns", "kube-system"))], "coredns")


def test_each_kind_hits_what_it_can_hit() -> None:
    for kind in faults.KINDS:
        assert ordering.broken(node(), kind, 0, "", 1.0).kind == kind
    assert ordering.broken(node(), "ib-link", 0, "", 1.0).target == "rdmap16s27"
    assert ordering.broken(node(), "ethernet-link", 5, "", 1.0) == Fault(NAME, "ethernet-link", 1.0, target="ens6")
    assert ordering.broken(node(), "nccl-timeout", 0, "", 1.0).until == 1.0
    plain: Any = {"metadata": {"name": NAME}, "status": {}}
    with pytest.raises(CommandError, match="has no GPUs"):
        ordering.broken(plain, "pcie", 0, "", 1.0)
    with pytest.raises(CommandError, match="no fabric device at all"):
        ordering.broken(plain, "ib-link", 0, "", 1.0)
    with pytest.raises(CommandError, match="has no NVLink"):
        ordering.broken(node(**{"nvidia.com/gpu.product": "NVIDIA-L40S"}), "nvlink", 0, "", 1.0)


def test_a_load_is_said_in_a_sentence() -> None:
    assert ordering.said(Load("ns", "chat", {}, 2.5, 0.0, 60.0)).startswith("2.5 requests a second on Service ns/chat")


@pytest.mark.parametrize("word", ["y", "-1", "nan", "inf", ""])
def test_a_load_is_a_number_from_zero_up(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["load", "web", f"--rps={word}"])
    assert f"{word} is not a number of 0 or more, such as 20" in capsys.readouterr().err
