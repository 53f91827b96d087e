"""The language runtime protocol: runs a Python program for the engine, as pulumi-language-python does."""

import importlib.metadata
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from typing_extensions import override

from rehearsal import virtualenv
from rehearsal.plugins.protocol import language_pb2, language_pb2_grpc, plugin_pb2
from rehearsal.plugins.servicer import GRPC_OPTIONS, Context, exit_on_interrupt, exit_with_parent, listen

PROGRAM = Path(__file__).with_name("program.py")
REPORTED = 32
"""The exit code of a program that has told the engine itself why it failed."""
LEAVE_SECONDS = 5.0
"""How long an interrupted program may take to end before it is killed (`WaitDelay` of main.go's Run)."""


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """One engine's host: it starts a process for each program and passes its output through."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._children: set[subprocess.Popen[bytes]] = set()

    def stop(self) -> None:
        """Kills the programs that still run."""
        with self._lock:
            for child in self._children:
                child.kill()

    def interrupt(self) -> None:
        """Interrupts the programs that still run, as Ctrl-C would; those that go on are killed after a while."""
        with self._lock:
            children = list(self._children)
        for child in children:
            child.send_signal(signal.SIGINT)
            killer = threading.Timer(LEAVE_SECONDS, child.kill)
            killer.daemon = True
            killer.start()

    @override
    def Cancel(self, request: Any, context: Context) -> Any:
        self.interrupt()
        return Empty()

    @override
    def Handshake(self, request: Any, context: Context) -> Any:
        return language_pb2.LanguageHandshakeResponse()

    @override
    def GetPluginInfo(self, request: Any, context: Context) -> Any:
        return plugin_pb2.PluginInfo(version=importlib.metadata.version("pulumi"))

    @override
    def GetRequiredPackages(self, request: Any, context: Context) -> Any:
        """None: the program's own requests name the plugins and versions it needs."""
        return language_pb2.GetRequiredPackagesResponse()

    @override
    def GetRequiredPlugins(self, request: Any, context: Context) -> Any:
        return language_pb2.GetRequiredPluginsResponse()

    @override
    def GetProgramDependencies(self, request: Any, context: Context) -> Any:
        return language_pb2.GetProgramDependenciesResponse()

    @override
    def RuntimeOptionsPrompts(self, request: Any, context: Context) -> Any:
        return language_pb2.RuntimeOptionsResponse()

    @override
    def About(self, request: Any, context: Context) -> Any:
        return language_pb2.AboutResponse(executable=sys.executable, version=sys.version.partition(" ")[0])

    @override
    def Run(self, request: Any, context: Context) -> Any:
        """Runs the program to its end, or interrupts it when the engine gives the call up.

        What the exit code says is as in main.go's Run (sdk/python/cmd/pulumi-language-python): only code 32 is no
        error of its own; a program that a signal ended has code -1.
        """
        if context is not None:
            context.add_callback(self.interrupt)
        info = request.info
        root = Path(info.root_directory)
        environment, interpreter = _virtualenv(root, dict(info.options.items()))
        environment["PULUMI_CONFIG"] = json.dumps(dict(request.config))
        environment["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(list(request.configSecretKeys))
        settings = {
            "project": request.project,
            "stack": request.stack,
            "parallel": request.parallel,
            "dry_run": request.dryRun,
            "organization": request.organization,
            "monitor": request.monitor_address,
            "engine": self._engine,
            "root_directory": str(root),
        }
        entry = Path(info.program_directory) / info.entry_point
        command = [interpreter, "-u", str(PROGRAM), str(entry), json.dumps(settings), *request.args]
        code = self._run(command, environment, info.program_directory)
        if code == REPORTED:
            return language_pb2.RunResponse(bail=True)
        error = f"program exited with non-zero exit code: {max(code, -1)}" if code else ""
        return language_pb2.RunResponse(error=error)

    @override
    def RunPlugin(self, request: Any, context: Context) -> Iterator[Any]:
        """Runs a policy pack until the engine gives the call up, and passes on what it writes.

        As main.go's RunPlugin does for the kind `analyzer`: `python -u -m pulumi.policy ENGINE PACK` in the pack's
        directory and environment. The stack's settings are not handed on: main.go waits for them in a proxy.
        """
        info = request.info
        if request.kind != "analyzer":
            text = (
                f"{info.program_directory} is a plugin of the kind {request.kind!r}: this host runs policy packs only"
            )
            context.abort(grpc.StatusCode.UNIMPLEMENTED, text)
        environment, interpreter = _virtualenv(Path(info.root_directory), dict(info.options.items()))
        command = [interpreter, "-u", "-m", "pulumi.policy", *request.args, info.program_directory]
        environment |= dict(each.split("=", 1) for each in request.env if "=" in each)
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, env=environment, cwd=info.program_directory, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
        ) as child:
            with self._lock:
                self._children.add(child)
            context.add_callback(child.kill)
            try:
                yield from written_by(child)
                yield language_pb2.RunPluginResponse(exitcode=child.wait())
            finally:
                child.kill()
                with self._lock:
                    self._children.discard(child)

    def _run(self, command: list[str], environment: Mapping[str, str], directory: str) -> int:
        with self._lock:
            child = subprocess.Popen(command, env=environment, cwd=directory, stdin=subprocess.DEVNULL)
            self._children.add(child)
        code = child.wait()
        with self._lock:
            self._children.discard(child)
        return code


def written_by(child: subprocess.Popen[bytes]) -> Iterator[Any]:
    """What a process writes, as soon as it does, until both of its streams end."""
    written: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()

    def read(name: str, descriptor: int) -> None:
        while content := os.read(descriptor, 65_536):
            written.put((name, content))
        written.put((name, b""))

    streams = {"stdout": child.stdout, "stderr": child.stderr}
    for name, stream in streams.items():
        if stream is not None:
            threading.Thread(target=read, args=(name, stream.fileno()), daemon=True).start()
    ended = 0
    while ended < len(streams):
        name, content = written.get()
        ended += not content
        if content:
            of = language_pb2.RunPluginResponse
            yield of(stdout=content) if name == "stdout" else of(stderr=content)


def serve(engine: str) -> None:
    """Serves a host on loopback until the engine interrupts it or dies; programs die with it."""
    host = LanguageHost(engine)
    exit_with_parent(host.stop)
    exit_on_interrupt(host.stop)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), options=GRPC_OPTIONS)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    listen(server)
    server.wait_for_termination()


def _virtualenv(root: Path, options: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Environment and interpreter of a program: the project's virtual environment if it is there, else our own.

    Where this host found its own modules is none of the program's business.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    folder = virtualenv.directory(root, options)
    if folder is None:
        return environment, sys.executable
    environment["VIRTUAL_ENV"] = str(folder)
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment.get('PATH', '')}"
    environment.pop("PYTHONHOME", None)
    return environment, str(folder / "bin" / "python")
