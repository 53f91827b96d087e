"""The language runtime protocol: runs a Python program for the engine, as pulumi-language-python does."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from typing_extensions import override

from ..protocol import language_pb2, language_pb2_grpc, plugin_pb2
from ..servicer import GRPC_OPTIONS, Context, exit_on_interrupt, exit_with_parent, listen

PROGRAM = Path(__file__).with_name("program.py")
REPORTED = 32
"""The exit code of a program that has told the engine itself why it failed."""


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
        """Runs the program to its end."""
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
        if code < 0:
            return language_pb2.RunResponse(error=f"the program was killed by signal {-code}")
        return language_pb2.RunResponse(error=f"the program exited with code {code}" if code else "")

    def _run(self, command: list[str], environment: Mapping[str, str], directory: str) -> int:
        with self._lock:
            child = subprocess.Popen(command, env=environment, cwd=directory, stdin=subprocess.DEVNULL)
            self._children.add(child)
        code = child.wait()
        with self._lock:
            self._children.discard(child)
        return code


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
    """Environment and interpreter of a program: the project's virtual environment if it is there, else our own."""
    environment = dict(os.environ)
    named = options.get("virtualenv")
    folder = root / named if isinstance(named, str) and named else None
    if folder is None or not (folder / "bin" / "python").exists():
        return environment, sys.executable
    environment["VIRTUAL_ENV"] = str(folder)
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment.get('PATH', '')}"
    environment.pop("PYTHONHOME", None)
    return environment, str(folder / "bin" / "python")
