"""The language host runs programs: its settings, its output, and how it tells of failures."""

import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, language_pb2, resource_pb2, resource_pb2_grpc
from typing_extensions import override

from rehearsal.plugins.language.host import LanguageHost
from rehearsal.plugins.wire import decode


class Engine(engine_pb2_grpc.EngineServicer, resource_pb2_grpc.ResourceMonitorServicer):
    """As much of an engine as a program without resources talks to."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.said: list[str] = []
        self.outputs: dict[str, Any] = {}

    @override
    def Log(self, request: Any, context: Any) -> Any:
        (self.errors if request.severity == engine_pb2.ERROR else self.said).append(request.message)
        return Empty()

    @override
    def SupportsFeature(self, request: Any, context: Any) -> Any:
        return resource_pb2.SupportsFeatureResponse(hasSupport=True)

    @override
    def RegisterResource(self, request: Any, context: Any) -> Any:
        return resource_pb2.RegisterResourceResponse(urn="urn:pulumi:s::p::pulumi:pulumi:Stack::p-s", object=Struct())

    @override
    def RegisterResourceOutputs(self, request: Any, context: Any) -> Any:
        self.outputs, _ = decode(request.outputs)
        return Empty()

    @override
    def SignalAndWaitForShutdown(self, request: Any, context: Any) -> Any:
        return Empty()


@pytest.fixture
def engine() -> Iterator[tuple[Engine, str]]:
    engine = Engine()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(engine, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield engine, f"127.0.0.1:{port}"
    server.stop(None)


def run(address: str, folder: Path, program: str, **more: Any) -> Any:
    """Runs a program with one plain and one secret setting."""
    (folder / "__main__.py").write_text(textwrap.dedent(program))
    return LanguageHost(address).Run(request(address, folder, **more), None)


def request(address: str, folder: Path, **options: Any) -> Any:
    struct = Struct()
    struct.update(options)
    return language_pb2.RunRequest(
        project="p",
        stack="s",
        organization="o",
        parallel=4,
        monitor_address=address,
        config={"p:size": "3", "p:token": "t0ken"},
        configSecretKeys=["p:token"],
        info=language_pb2.ProgramInfo(
            root_directory=str(folder), program_directory=str(folder), entry_point=".", options=struct
        ),
    )


def test_a_program_sees_its_settings_and_exports(engine: tuple[Engine, str], tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("answer = 42")
    program = """
        import pulumi, beside
        config = pulumi.Config()
        pulumi.export("size", config.require_int("size"))
        pulumi.export("secret", pulumi.runtime.is_config_secret("p:token"))
        pulumi.export("where", f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}")
        pulumi.export("answer", beside.answer)
    """
    answer = run(engine[1], tmp_path, program)
    assert not answer.error
    assert not answer.bail
    assert engine[0].outputs == {"size": 3, "secret": True, "where": "o/p/s", "answer": 42}


def test_a_run_error_is_a_message_and_an_exit_code_lf26(engine: tuple[Engine, str], tmp_path: Path) -> None:
    answer = run(engine[1], tmp_path, 'import pulumi\nraise pulumi.RunError("pools.gpu: too small; type 2")')
    assert not answer.bail
    assert answer.error == "program exited with non-zero exit code: 1"
    assert engine[0].errors == ["pools.gpu: too small; type 2"]


def test_a_refusal_that_exits_with_32_is_its_message_alone_lf26(engine: tuple[Engine, str], tmp_path: Path) -> None:
    program = 'import pulumi, sys\npulumi.log.error("pools.gpu: too small; type 2")\nsys.exit(32)'
    answer = run(engine[1], tmp_path, program)
    assert (answer.bail, answer.error) == (True, "")
    assert engine[0].errors == ["pools.gpu: too small; type 2"]


def test_messages_reach_the_engine_but_those_that_nobody_is_shown(engine: tuple[Engine, str], tmp_path: Path) -> None:
    """A debug message is a call whose answer the program would wait for, several times for each resource."""
    program = """
        import pulumi
        pulumi.log.debug("unseen")
        pulumi.log.info("seen")
        pulumi.log.warn("heeded")
        class Own(pulumi.ComponentResource):
            pass
        Own("t:m:Own", "name")
    """
    assert not run(engine[1], tmp_path, program).error
    assert engine[0].said == ["seen", "heeded"]


def test_an_exception_shows_the_programs_own_lines(engine: tuple[Engine, str], tmp_path: Path) -> None:
    answer = run(engine[1], tmp_path, "def plan():\n    return {}['x']\nplan()\n")
    assert answer.bail
    [text] = engine[0].errors
    assert text.startswith("Program failed with an unhandled exception:\nTraceback (most recent call last):\n")
    assert text.endswith("KeyError: 'x'\n")
    assert "in plan" in text
    assert "asyncio" not in text


def test_another_exit_code_is_reported(engine: tuple[Engine, str], tmp_path: Path) -> None:
    answer = run(engine[1], tmp_path, "import os\nos._exit(3)")
    assert not answer.bail
    assert answer.error == "program exited with non-zero exit code: 3"


def test_output_reaches_the_engine_and_secrets_do_not(
    engine: tuple[Engine, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = "import sys\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\nprint(sys.argv)"
    run(engine[1], tmp_path, program)
    captured = capfd.readouterr()
    assert "to stdout" in captured.out
    assert "to stderr" in captured.err
    assert "t0ken" not in captured.out + captured.err


def test_the_projects_virtual_environment_runs_the_program(engine: tuple[Engine, str], tmp_path: Path) -> None:
    interpreter = tmp_path / "venv" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f'#!/bin/sh\nMARK=venv exec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    program = 'import os, pulumi\npulumi.export("mark", os.environ.get("MARK", "own"))'
    run(engine[1], tmp_path, program, virtualenv="venv")
    assert engine[0].outputs == {"mark": "venv"}
    run(engine[1], tmp_path, program, virtualenv="nowhere")
    assert engine[0].outputs == {"mark": "own"}


def begun(host: LanguageHost, address: str, folder: Path, context: Any = None) -> tuple[threading.Thread, list[Any]]:
    """A program that sleeps, and where its answer will be."""
    running = folder / "running"
    (folder / "__main__.py").write_text(f"import time\nopen({str(running)!r}, 'w').close()\ntime.sleep(600)")
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(host.Run(request(address, folder), context)))
    thread.start()
    while not running.exists():
        thread.join(0.02)
    return thread, answers


def test_stop_kills_the_program(engine: tuple[Engine, str], tmp_path: Path) -> None:
    host = LanguageHost(engine[1])
    thread, answers = begun(host, engine[1], tmp_path)
    host.stop()
    thread.join(5)
    assert answers[0].error == "program exited with non-zero exit code: -1"


class Call:
    """An RPC that its caller gives up, or that is refused."""

    def __init__(self) -> None:
        self.given_up: list[Any] = []

    def add_callback(self, callback: Any) -> None:
        self.given_up.append(callback)

    def abort(self, code: grpc.StatusCode, text: str) -> None:
        raise LookupError(f"{code.name}: {text}")


@pytest.mark.parametrize("how", ["cancel", "give up"])
def test_a_program_that_is_given_up_prints_a_traceback_lf26(
    engine: tuple[Engine, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], how: str
) -> None:
    host, call = LanguageHost(engine[1]), Call()
    thread, answers = begun(host, engine[1], tmp_path, call)
    if how == "cancel":
        host.Cancel(Empty(), None)
    else:
        call.given_up[0]()
    thread.join(8)
    assert answers[0].error.startswith("program exited with non-zero exit code: ")
    assert "KeyboardInterrupt" in capfd.readouterr().err


def plugin(folder: Path, program: str = "", *, kind: str = "analyzer") -> Any:
    """A request to run what lies in a directory as a plugin."""
    (folder / "__main__.py").write_text(textwrap.dedent(program))
    info = language_pb2.ProgramInfo(root_directory=str(folder), program_directory=str(folder), entry_point=".")
    return language_pb2.RunPluginRequest(info=info, kind=kind, args=["127.0.0.1:1"], env=["ABOUT=gpus"])


def test_a_policy_pack_says_its_port_and_runs_until_it_ends(tmp_path: Path) -> None:
    """What it writes comes as it writes it, from its own directory, with the environment of the request."""
    program = """
        import os, sys
        print(50051, flush=True)
        print(os.environ["ABOUT"], os.getcwd(), sys.argv[1], file=sys.stderr, flush=True)
        raise SystemExit(3)
    """
    said = list(LanguageHost("").RunPlugin(plugin(tmp_path, program), Call()))
    assert b"".join(each.stdout for each in said) == b"50051\n"
    assert b"".join(each.stderr for each in said).decode().split() == ["gpus", str(tmp_path), "127.0.0.1:1"]
    assert [each.exitcode for each in said if each.WhichOneof("output") == "exitcode"] == [3]


def test_a_policy_pack_ends_when_the_engine_gives_it_up(tmp_path: Path) -> None:
    call = Call()
    said = LanguageHost("").RunPlugin(plugin(tmp_path, "import time\nprint(1, flush=True)\ntime.sleep(600)\n"), call)
    assert next(said).stdout.startswith(b"1")
    for each in call.given_up:
        each()
    assert [each.exitcode for each in said][-1] == -9, "what is left of its output comes before"


def test_a_plugin_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="of the kind 'resource': this host runs policy packs only"):
        next(LanguageHost("").RunPlugin(plugin(tmp_path, kind="resource"), Call()))
