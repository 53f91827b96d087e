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

from rehearsal import particulars, places, sites
from rehearsal.command import apply, commands, contents, preflight
from rehearsal.command.main import main
from rehearsal.command.meter import Meter
from rehearsal.engine import declared
from rehearsal.engine.declared import Declared
from rehearsal.engine.events import Record
from rehearsal.engine.run import EngineError
from rehearsal.engine.stackfile import StackFileError, stack_file
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
        watching = Watching("c", "http://prometheus-operated.m:9090", Path("/s/proxy.url"), [])
        shown = SimpleNamespace(
            looks=lambda *given: [" ".join(given)], typed=lambda *words: " ".join(("type", words[0], *words[2:]))
        )
        return SimpleNamespace(
            console=screen,
            meter=meter,
            views=lambda: seen,
            watched=lambda: [watching],
            program=shown,
            guard=lambda _: SimpleNamespace(look=lambda: None),
            gone=list,
            shown=list,
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
    assert "curl -K /s/proxy.curl http://prometheus-operated.m:9090/api/v1/targets" in said
    assert "dev http://prometheus-operated.m:9090 $(cat /s/proxy.url)" in said
    assert "alerts: none firing" in said
    last = said.rstrip().splitlines()[-1]
    assert last.startswith("next: `type status`, `type kubectl`, `type preview`, `type down`; `type up verbose` lists ")


SLOW = "warning GpuSlow: GPU 0 of node-1 is slow"


@pytest.mark.parametrize(
    ("looks", "ordered", "missing", "status"),
    [
        ([[SLOW], [SLOW], []], False, [], 0),
        ([[SLOW], [SLOW], []], False, [DEAF], 1),
        ([[SLOW]], False, [], 1),
        ([[SLOW]], True, [], 0),
        ([["info CPUThrottlingHigh: 25 %"]], False, [], 0),
        ([None], False, [], 0),
    ],
)
def test_alerts_that_still_fire_fail_up_unless_somebody_ordered_it(
    looks: list[list[str] | None], ordered: bool, missing: list[str], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that goes ten seconds with each look; what fires while a stack comes to be is waited for."""
    clock, said = itertools.count(0.0, 10.0), io.StringIO()
    told = itertools.chain(looks, itertools.repeat(looks[-1]))
    monkeypatch.setattr("rehearsal.command.apply.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("rehearsal.command.apply.time.sleep", lambda _: None)
    monkeypatch.setattr("rehearsal.command.ordering.present", lambda _: ["node-1: a GPU is slow"] if ordered else [])
    session = SimpleNamespace(
        console=Console(file=said, width=200),
        meter=Meter(),
        directory=None,
        watched=lambda: [Watching("c", "http://p:9090", Path("/s/proxy.url"), next(told))],
        guard=lambda _: SimpleNamespace(look=lambda: None),
    )
    watching, firing = apply.wait_until_quiet(session, missing)  # type: ignore[arg-type]
    assert firing == ([f"alert of c fires, {SLOW}"] if status else [])
    assert watching[0].loud == ([SLOW] if status or ordered else [])
    waits = looks[0] == [SLOW] and not ordered and not missing
    assert said.getvalue().count(SLOW) == (1 if waits else 0), "each is said once"


@pytest.mark.parametrize(("missed", "status"), [((), 0), (("job web/copy has failed: [BackoffLimitExceeded]",), 1)])
def test_status_ends_with_1_if_something_declared_is_missed(
    missed: tuple[str, ...],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    site = SimpleNamespace(cloud_url="http://127.0.0.1:1", account=None)
    running = sites.Status(sites.State.RUNNING, "running", site)  # type: ignore[arg-type]
    monkeypatch.setattr(sites, "status", lambda _: running)
    monkeypatch.setattr(commands, "views", lambda *_: [ClusterView("c", missed=missed)])
    monkeypatch.setattr(commands, "absent", lambda *_: [])
    monkeypatch.setattr(commands, "shown", lambda *_: [])
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
    running = sites.Status(sites.State.RUNNING, "r", SimpleNamespace(cloud_url="", account=None))  # type: ignore[arg-type]
    monkeypatch.setattr(sites, "status", lambda _: running)
    monkeypatch.setattr(places, "site", lambda *_: site)
    monkeypatch.setattr(commands, "views", lambda *_: [])
    monkeypatch.setattr(commands, "absent", lambda *_: [])
    monkeypatch.setattr(commands, "shown", lambda *_: [])
    assert commands.status(argparse.Namespace(root=tmp_path, stack="dev", site="s")) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "curl " in line]
    curl = site.cluster("us-east-2", "up") / "proxy.curl"
    ask = f"cluster us-east-2/up: its Services and pods answer to `curl -K {curl} http://SERVICE.NAMESPACE:PORT/`"
    assert lines == [ask]


def waited(views: Callable[[], list[ClusterView]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is complained of in the end, on a clock that goes ten seconds with each look."""
    clock = [0.0]

    def looked() -> list[ClusterView]:
        clock[0] += 10.0
        return views()

    def sleep(seconds: float) -> None:
        assert seconds >= 10.0, "looking takes half of the time at most"

    monkeypatch.setattr(apply, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    fake = SimpleNamespace(console=Console(file=io.StringIO()), meter=Meter(), views=looked, gone=list)
    fake.guard = lambda _: SimpleNamespace(look=lambda: None)
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
    assert contents.views(site, program) == []  # type: ignore[arg-type]
    objects = [Declared("v1", "Namespace", None, "web")]
    monkeypatch.setattr(declared, "stored", lambda _: objects)
    (lost,) = contents.views(site, program)  # type: ignore[arg-type]
    assert lost.unready() == ["the state holds 1 Kubernetes objects, and no cluster runs here"]
    kubeconfig = site.cluster("us-east-2", "gpu") / "kubeconfig"
    kubeconfig.parent.mkdir(parents=True)
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nusers: [{name: u, user: {token: t}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    (silent,) = contents.views(site, program)  # type: ignore[arg-type]
    assert silent.unready()[0].startswith("cluster us-east-2/gpu does not answer: http://127.0.0.1:1 does not answer")


def test_a_rehearsal_that_failed_names_the_command_that_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C12: its own site is gone by then; the last line says how to have it again, and to keep it."""
    stopped: list[Path] = []

    def failing(*_: object) -> None:
        raise EngineError("pulumi up failed (log: /l)")

    monkeypatch.setattr(preflight, "check", lambda *_: None)
    monkeypatch.setattr(preflight, "hosts", lambda *_: None)
    monkeypatch.setattr(commands, "open_session", failing)
    monkeypatch.setattr(sites, "stop", stopped.append)
    monkeypatch.setattr(places, "site", lambda *_: SiteDirectory(tmp_path / "s"))
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    assert main(["rehearse", "--stack", "mine", "--root", str(tmp_path)]) == 1
    first, last = capsys.readouterr().err.strip().splitlines()[-2:]
    assert first == "error: pulumi up failed (log: /l)"
    typed = particulars.load(tmp_path).typed("up", "mine")
    assert "mine" in typed
    assert last == f"Nothing is left running: `{typed}` repeats it and leaves it running for inspection."
    assert stopped == [tmp_path / "s"]


@pytest.mark.parametrize("flag", ["--stack", "--site"])
def test_a_name_of_a_rehearsal_is_repeated_escaped_and_cut(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["status", flag, "../\x1b[31m" + "x" * 300])
    said = capsys.readouterr().err
    assert "../\\x1b[31mxxx" in said
    assert "\x1b" not in said
    assert "x" * 80 not in said


def test_a_stack_without_a_file_is_repeated_escaped_and_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    with pytest.raises(StackFileError, match="does not exist") as refused:
        stack_file(tmp_path, "\x1b[31m" + "x" * 200)
    assert "\x1b" not in str(refused.value)
    assert "x" * 80 not in str(refused.value)
