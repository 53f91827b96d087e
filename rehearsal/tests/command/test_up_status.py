"""`make up` ends with 1, and says what does not run, if the stack was applied and does not work."""

import argparse
import io
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from rehearsal import places, supervisor
from rehearsal.command import apply, commands, preflight, session
from rehearsal.command.meter import Meter
from rehearsal.engine import declared
from rehearsal.engine.declared import Declared
from rehearsal.engine.events import Record
from rehearsal.engine.view import ClusterView
from rehearsal.engine.watching import Watching
from rehearsal.places import SiteDirectory

DEAF = "Service inference/llama port http leads to llama-0:8080, where no container listens"


@pytest.mark.parametrize(("unanswered", "status"), [((), 0), ((DEAF,), 1)])
def test_a_service_that_nobody_answers_fails_up(
    unanswered: tuple[str, ...],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    seen = [ClusterView("c", unanswered=unanswered)]

    def opened(*given: object) -> SimpleNamespace:
        screen, meter = given[-2:]
        watching = Watching("c", "http://prometheus-operated.m:9090", "http://127.0.0.1:7", [])
        shown = SimpleNamespace(looks=lambda *given: [" ".join(given)], typed=lambda *words: f"type {words[0]}")
        return SimpleNamespace(
            console=screen, meter=meter, views=lambda: seen, watched=lambda: [watching], program=shown
        )

    monkeypatch.setattr(preflight, "check", lambda *_: None)
    monkeypatch.setattr(commands, "open_session", opened)
    monkeypatch.setattr(apply, "up", lambda *_: SimpleNamespace(record=Record()))
    monkeypatch.setattr(apply, "WAIT_SECONDS", 0.0)
    unproven = "not proven: no packet passes"
    seen[0] = replace(seen[0], unproven=(unproven,))
    assert commands.up(argparse.Namespace(root=tmp_path, stack="dev", site="exit-status", verbose=False)) == status
    said = capsys.readouterr().out
    assert (DEAF in said) is bool(status)
    assert unproven in said
    assert "curl -x http://127.0.0.1:7 http://prometheus-operated.m:9090/api/v1/targets" in said
    assert "dev http://prometheus-operated.m:9090 http://127.0.0.1:7" in said
    assert "alerts: none firing" in said
    assert said.rstrip().splitlines()[-1].startswith("next: `type status`, `type kubectl`, `type preview`, `type down`")


@pytest.mark.parametrize(("missed", "status"), [((), 0), (("job web/copy has failed: [BackoffLimitExceeded]",), 1)])
def test_status_ends_with_1_if_something_declared_is_missed(
    missed: tuple[str, ...],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    site = SimpleNamespace(cloud_url="http://127.0.0.1:1")
    running = supervisor.Status(supervisor.State.RUNNING, "running", site)  # type: ignore[arg-type]
    monkeypatch.setattr(supervisor, "status", lambda _: running)
    monkeypatch.setattr(commands, "views", lambda *_: [ClusterView("c", missed=missed)])
    assert commands.status(argparse.Namespace(root=tmp_path, stack="dev", site="s")) == status
    assert all(sentence in capsys.readouterr().out for sentence in missed), "brackets are no markup"


def test_status_tells_by_which_proxy_a_clusters_services_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = SiteDirectory(tmp_path / "dev").create()
    for name in ("up", "starting"):
        (kubeconfig := site.cluster("us-east-2", name) / "kubeconfig").parent.mkdir(parents=True)
        kubeconfig.write_text("")
    (site.cluster("us-east-2", "up") / "proxy.url").write_text("http://127.0.0.1:7")
    running = supervisor.Status(supervisor.State.RUNNING, "r", SimpleNamespace(cloud_url=""))  # type: ignore[arg-type]
    monkeypatch.setattr(supervisor, "status", lambda _: running)
    monkeypatch.setattr(places, "site", lambda *_: site)
    monkeypatch.setattr(commands, "views", lambda *_: [])
    assert commands.status(argparse.Namespace(root=tmp_path, stack="dev", site="s")) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "curl -x" in line]
    ask = "cluster us-east-2/up: its Services and pods answer to `curl -x http://127.0.0.1:7 http://SERVICE.NAMESPACE:PORT/`"
    assert lines == [ask]


def waited(views: Callable[[], list[ClusterView]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is complained of in the end, on a clock that goes ten seconds with each look."""
    clock = itertools.count(0.0, 10.0)
    monkeypatch.setattr(apply, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None))
    fake = SimpleNamespace(console=Console(file=io.StringIO()), meter=Meter(), views=views)
    return apply.wait_until_running(fake)[1]  # type: ignore[arg-type]


def test_up_waits_while_something_moves_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    still = [ClusterView("c", missed=("a claim",))]
    looks: list[int] = []
    assert waited(lambda: looks.append(1) or still, monkeypatch) == ["a claim"]  # type: ignore[func-returns-value]
    assert len(looks) * 10 <= apply.STILL_SECONDS + 30
    moving = (ClusterView("c", missed=(f"{number} of 99 replicas",)) for number in itertools.count())
    assert waited(lambda: [next(moving)], monkeypatch) == ["18 of 99 replicas"]
    coming = iter([still, still, [ClusterView("c")]])
    assert waited(lambda: next(coming), monkeypatch) == []


def test_a_cluster_that_is_not_there_or_does_not_answer_is_told_lf28(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = SiteDirectory(tmp_path / "dev").create()
    program = SimpleNamespace(images=())
    assert session.views(site, program) == []  # type: ignore[arg-type]
    objects = [Declared("v1", "Namespace", None, "web")]
    monkeypatch.setattr(declared, "stored", lambda _: objects)
    (lost,) = session.views(site, program)  # type: ignore[arg-type]
    assert lost.unready() == ["the state holds 1 Kubernetes objects, and no cluster runs here"]
    kubeconfig = site.cluster("us-east-2", "gpu") / "kubeconfig"
    kubeconfig.parent.mkdir(parents=True)
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nusers: [{name: u, user: {token: t}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    (silent,) = session.views(site, program)  # type: ignore[arg-type]
    assert silent.unready()[0].startswith("cluster us-east-2/gpu does not answer: http://127.0.0.1:1 does not answer")
