"""What a stack needs of the toolchain is built between its preview and its update, or before the resource is made."""

import io
import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2
from rich.console import Console

from rehearsal import toolchain
from rehearsal.command import apply, session
from rehearsal.command.errors import CommandError
from rehearsal.command.meter import Meter
from rehearsal.engine.events import Record
from rehearsal.engine.run import Outcome
from rehearsal.kubelet.images import Images, Row
from rehearsal.kubelet.program import LaunchError
from rehearsal.particulars import Particulars
from rehearsal.plugins import servicer
from rehearsal.plugins.kubernetes.tools import Building
from rehearsal.plugins.servicer import PluginError
from rehearsal.plugins.wire import encode
from rehearsal.tests.kube.engine import Context, Stack
from rehearsal.toolchain import BuildError, needs

RELEASE, DEPLOYMENT = "kubernetes:helm.sh/v3:Release", "kubernetes:apps/v1:Deployment"
VOLCANO = {"chart": "volcano", "namespace": "default"}
WEB = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:1.29"}]}}}}


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine on which nothing but the control plane is built; what is built then."""
    done: list[str] = []

    def ensure(names: tuple[str, ...], report: Any) -> None:
        report(f"building {names}")
        done.extend(names)

    def generate(name: str, _: Any) -> None:
        done.append(f"CRDs of {name}")

    monkeypatch.setattr(needs, "generated", lambda name: f"CRDs of {name}" in done)
    monkeypatch.setattr(needs, "missing", lambda names: [name for name in names if name not in done])
    monkeypatch.setattr(needs, "ensure", ensure)
    monkeypatch.setattr(needs, "crds", generate)
    return done


def previewed(directory: Path, *resources: tuple[str, dict[str, Any]]) -> Outcome:
    """A finished preview whose event log registers these."""
    events: list[dict[str, Any]] = [
        {"resourcePreEvent": {"metadata": {"op": "create", "urn": "u", "new": {"type": token, "inputs": inputs}}}}
        for token, inputs in resources
    ]
    events += [{"resourcePreEvent": {"metadata": {"op": "delete", "urn": "u", "old": {"type": RELEASE}, "new": None}}}]
    log = directory / "pulumi-preview.log"
    log.with_suffix(".events").write_text("".join(f"{json.dumps(each)}\n" for each in [*events, {"summaryEvent": {}}]))
    return Outcome("preview", 0, Record(), 1.0, log)


def a_session(written: io.StringIO) -> Any:
    return SimpleNamespace(meter=Meter(), console=Console(file=written))


def test_between_preview_and_update_what_the_stack_needs_is_built(tmp_path: Path, built: list[str]) -> None:
    written = io.StringIO()
    ours = a_session(written)
    apply.build_for(ours, previewed(tmp_path, (RELEASE, VOLCANO), (DEPLOYMENT, WEB)))
    assert built == ["crds", "volcano", "helm", "CRDs of volcano"]
    assert "  building" in written.getvalue()
    assert [phase.name for phase in ours.meter.phases] == ["tools of the stack"]


def test_the_update_begins_when_its_tools_are_there(
    tmp_path: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Engine:
        def preview(self, **_: object) -> Outcome:
            assert built == []
            return previewed(tmp_path, (RELEASE, VOLCANO))

        def up(self, **_: object) -> Outcome:
            assert built == ["crds", "volcano", "helm", "CRDs of volcano"]
            return Outcome("up", 0, Record(), 1.0, tmp_path / "pulumi-up.log")

    ours = a_session(io.StringIO())
    ours.replaced, ours.seed, ours.lines, ours.engine = (), lambda _: [], lambda **_: None, Engine()
    ours.program, ours.locked_by = Particulars(), lambda: None
    monkeypatch.setattr(apply, "recover_if_needed", lambda _: None)
    assert apply.up(ours, "config: {}").operation == "up"


@pytest.mark.parametrize(
    ("pid", "said"), [(7, r"pulumi \(pid 7\) works on stack dev now"), (None, "has ended: try again")]
)
def test_who_is_slower_by_a_moment_reads_our_words_and_not_pulumis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str], pid: int | None, said: str
) -> None:
    """Its advice, `pulumi cancel`, would take the lock from the one that works."""
    log = tmp_path / "pulumi-up.log"
    log.write_text("error: the stack is currently locked by 1 lock(s). Delete the lock file with `pulumi cancel`.")
    holders = iter([None, pid])

    class Engine:
        stack = "dev"

        def preview(self, **_: object) -> Outcome:
            return previewed(tmp_path, (DEPLOYMENT, WEB))

        def up(self, **_: object) -> Outcome:
            return Outcome("up", 255, Record(), 1.0, log)

    ours = a_session(io.StringIO())
    ours.replaced, ours.seed, ours.lines, ours.engine = (), lambda _: [], lambda **_: None, Engine()
    ours.program, ours.locked_by = Particulars(), lambda: next(holders)
    monkeypatch.setattr(apply, "recover_if_needed", lambda _: None)
    with pytest.raises(CommandError, match=said) as error:
        apply.up(ours, "config: {}")
    assert "cancel" not in str(error.value)


def test_a_stack_without_gangs_builds_none_of_their_tools(tmp_path: Path, built: list[str]) -> None:
    apply.build_for(a_session(io.StringIO()), previewed(tmp_path, (DEPLOYMENT, WEB)))
    assert built == []


def test_a_build_that_fails_ends_the_command_with_its_reason(
    tmp_path: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise BuildError("the disk is full")

    monkeypatch.setattr(needs, "ensure", refuse)
    with pytest.raises(CommandError, match="the disk is full"):
        apply.build_for(a_session(io.StringIO()), previewed(tmp_path, (RELEASE, VOLCANO)))
    request = provider_pb2.CheckRequest(type=RELEASE, news=encode(VOLCANO, ()))
    with pytest.raises(PluginError, match="the disk is full"):
        Building()(request, print)


def test_a_session_opens_with_what_every_rehearsal_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = []

    def ensure(names: tuple[str, ...], _: object) -> None:
        asked.append(tuple(names))
        raise BuildError("stop here")

    (tmp_path / "Pulumi.yaml").write_text("name: web\nruntime: python\n")
    monkeypatch.setattr(toolchain, "ensure", ensure)
    with pytest.raises(CommandError):
        session.open_session("tools", tmp_path, "dev", Console(file=io.StringIO()), Meter())
    assert set(asked[0]) == {"etcd", "pulumi", "kubernetes", "kwok"}


def test_what_only_the_update_shows_is_built_when_the_engine_checks_it(built: list[str]) -> None:
    """Check has no time limit; in a first preview the engine does not call it, as the kubeconfig is not known."""
    said: list[str] = []
    building = Building()
    request = provider_pb2.CheckRequest(type=DEPLOYMENT, news=encode(WEB, ()))
    building(request, said.append)
    assert (built, said) == ([], [])
    request = provider_pb2.CheckRequest(type=RELEASE, news=encode(VOLCANO, ()))
    building(request, said.append)
    assert built == ["crds", "volcano", "helm", "CRDs of volcano"]
    assert len(said) == 1


def test_the_plugin_builds_before_it_checks() -> None:
    stack = Stack(None)
    asked: list[str] = []

    def provide(request: Any, report: Any) -> None:
        asked.append(request.type)
        report("building")
        raise PluginError("enough seen")

    stack.plugin._provide = provide
    request = provider_pb2.CheckRequest(urn="urn:pulumi:dev::test::t::n", type=RELEASE, news=encode(VOLCANO, ()))
    with pytest.raises(Exception, match="enough seen"):
        stack.plugin.Check(request, Context())
    assert asked == [RELEASE]


def test_the_engine_starts_a_plugin_that_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr(servicer, "serve", served.append)
    monkeypatch.setattr("sys.argv", ["plugin", "127.0.0.1:1"])
    runpy.run_module("rehearsal.plugins.kubernetes", run_name="__main__")
    assert isinstance(served[0]._provide, Building)


def test_an_image_whose_binary_cannot_be_built_does_not_start() -> None:
    def refuse(_: object) -> Any:
        raise BuildError("the disk is full")

    launch: Any = SimpleNamespace(
        spec={"image": "docker.io/volcanosh/vc-scheduler:v1.14.1", "name": "main"}, command=[]
    )
    with pytest.raises(LaunchError, match="the disk is full"):
        Images((Row(".*", refuse),)).start(launch)
