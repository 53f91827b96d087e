"""The plugins as processes: how the engine starts them and how they end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2_grpc, provider_pb2_grpc

ROOT = Path(__file__).parents[3]
ENGINE = "127.0.0.1:1"
STUBS: dict[str, Any] = {
    "rehearsal.plugins.aws": provider_pb2_grpc.ResourceProviderStub,
    "rehearsal.plugins.language": language_pb2_grpc.LanguageRuntimeStub,
}

# a parent that starts a plugin, says its pid and port, and waits to be killed
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-m", sys.argv[1], sys.argv[2]], stdout=subprocess.PIPE, text=True)
print(child.pid, child.stdout.readline().strip(), flush=True)
sys.stdin.read()
"""


@contextmanager
def started(module: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, ENGINE], stdout=subprocess.PIPE, text=True, cwd=ROOT, process_group=0
    )
    try:
        assert process.stdout
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("module", STUBS)
def test_the_first_line_is_the_port_and_an_interrupt_ends_it_quietly(module: str) -> None:
    with started(module) as (process, port):
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            assert STUBS[module](channel).GetPluginInfo(Empty()).version
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=5) == 0


@pytest.mark.parametrize(
    "module",
    ["rehearsal.plugins.aws.plugin", "rehearsal.plugins.kubernetes.provider", "rehearsal.plugins.language.host"],
)
def test_only_what_is_needed_is_imported(module: str) -> None:
    """The engine starts plugins anew for every preview: whatever they import delays all of it."""
    program = (
        f"import sys, {module};"
        "print([name for name in ('pulumi', 'pulumi_aws', 'boto3', 'moto', 'pydantic', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_the_sdk_and_the_plugins_share_their_messages() -> None:
    """Whichever comes first; a second definition of a message would be refused by protobuf, or be another class."""
    first, second = "from rehearsal.plugins.protocol import engine_pb2 as ours", "import pulumi.log"
    for lines in ((first, second), (second, first)):
        program = "\n".join([*lines, "assert pulumi.log.engine_pb2.LogRequest is ours.LogRequest"])
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.parametrize("module", STUBS)
def test_a_plugin_does_not_outlive_the_engine(module: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, module, ENGINE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert parent.stdout
    pid, port = parent.stdout.readline().split()
    plugin = psutil.Process(int(pid))
    assert int(port)
    assert plugin.is_running()
    parent.kill()
    parent.communicate()
    _, alive = psutil.wait_procs([plugin], timeout=5)
    assert not alive


def test_the_language_host_wants_the_engines_address() -> None:
    command = [sys.executable, "-m", "rehearsal.plugins.language"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert "started by pulumi" in done.stderr
