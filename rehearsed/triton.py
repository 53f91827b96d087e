"""Triton Inference Server: ready when every model of its repository is loaded, dead without a repository.

Source: Triton Inference Server, docs/protocol (KServe v2: /v2, /v2/health/live, /v2/health/ready), docs/user_guide/
metrics.md (/metrics on a port of its own) and src/command_line_parser.cc (`--model-repository`, `--http-port` 8000,
`--metrics-port` 8002, `--http-address` 0.0.0.0, `--metrics-address` as for HTTP). What changes the server answers
anybody who reaches it (src/http_server.cc, HTTPAPIServer::Handle).
Loading takes what the bytes take at 1 GB/s, and 20 s for CUDA.
"""

import json
from collections.abc import Sequence

from rehearsal.cluster.pages import Answer, Request
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

START_SECONDS = 20.0
BYTES_PER_SECOND = 1e9
CHANGING = ("/v2/repository/index", "/v2/logging", "/v2/trace/setting", "/v2/systemsharedmemory/status")


def option(argv: Sequence[str], name: str, without: str) -> str:
    """The value of `--NAME=VALUE` or `--NAME VALUE` in a command line. Pure."""
    for index, word in enumerate(argv):
        given, equals, value = word.partition("=")
        if given == f"--{name}":
            return value if equals else next(iter(argv[index + 1 :]), "")
    return without


def port(argv: Sequence[str]) -> int:
    """The one port of the pod on which a command line answers HTTP; 0 where it listens inside only. Pure."""
    return 0 if local(argv) else int(option(argv, "http-port", "8000"))


def local(argv: Sequence[str]) -> bool:
    """Whether it listens on the pod's loopback alone. Pure."""
    return option(argv, "http-address", "0.0.0.0") in ("127.0.0.1", "localhost")  # noqa: S104 - Triton's default


def run(launch: Launch) -> Program:
    """Starts the server, or a process that dies as Triton does."""
    repository = option(launch.argv, "model-repository", "")
    mount = launch.mount_of(repository) if repository else None
    files = launch.world.contents.under(mount.volume, mount.inside(repository) or "") if mount else {}
    if not files:
        text = f"error: creating server: Internal - failed to stat file {repository}"
        launch.log(text)
        return Ends(launch.now + START_SECONDS / TIME_SCALE, Exit(1, text))
    ready = launch.now + (START_SECONDS + sum(files.values()) / BYTES_PER_SECOND) / TIME_SCALE
    http, metrics = (int(option(launch.argv, *each)) for each in (("http-port", "8000"), ("metrics-port", "8002")))
    return Answering(launch, {http: serving, metrics: measured}, ready, local=local(launch.argv))


def serving(request: Request) -> Answer:
    """Health and the server's own description; models are not played."""
    if request.path in ("/v2/health/live", "/v2/health/ready"):
        return Answer("")
    if request.path in CHANGING:
        return Answer("")
    if request.path == "/v2":
        return Answer(json.dumps({"name": "triton"}), content_type="application/json")
    return Answer(json.dumps({"error": "Not Found"}), 404, "application/json")


def measured(request: Request) -> Answer:
    """The page of metrics, which has no lines until a request has been served."""
    return Answer("") if request.path == "/metrics" else Answer("", 404)
