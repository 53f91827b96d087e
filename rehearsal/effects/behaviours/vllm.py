"""vLLM's OpenAI-compatible server: ready when its weights are loaded, dead when it was asked for the impossible.

Source: vLLM's engine arguments (`vllm serve MODEL`, `--model`, `--tensor-parallel-size`, `--port` 8000) and its
`/health` route, which answers only once the engine is up. Load times are those of life at 1 GB/s of weights read, for
a model whose parameters its name tells ("8B" in bfloat16), and run faster by the kubelet's time scale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.effects.gpus import GPU
from rehearsal.effects.program import TIME_SCALE, Ends, Exit, Launch, Program

ENGINE_SECONDS = 60.0
BYTES_PER_SECOND = 1e9
BYTES_PER_PARAMETER = 2.0
IMPORT_SECONDS = 10.0
ROUTES = ("/health", "/v1/models", "/metrics", "/ping", "/version")


@dataclass(frozen=True)
class Serve:
    """What the command line asks for."""

    model: str
    tensor_parallel: int
    pipeline_parallel: int
    port: int


def parse(argv: Sequence[str]) -> Serve:
    """Reads a `vllm serve` command line (or `python -m vllm.entrypoints.openai.api_server`). Pure."""
    words = [word for part in argv for word in (part.split() if " " in part else [part])]
    options: dict[str, str] = {}
    positional: list[str] = []
    short = {"-tp": "--tensor-parallel-size", "-pp": "--pipeline-parallel-size"}
    index = 0
    while index < len(words):
        name, equals, value = words[index].partition("=")
        if name.startswith("-"):
            following = words[index + 1] if index + 1 < len(words) else ""
            takes_next = not equals and following and not following.startswith("-")
            options[short.get(name, name).replace("_", "-")] = value if equals else following if takes_next else ""
            index += 2 if takes_next else 1
        else:
            positional.append(words[index])
            index += 1
    named = positional[positional.index("serve") + 1 :] if "serve" in positional else []
    return Serve(
        model=options.get("--model") or (named[0] if named else "facebook/opt-125m"),
        tensor_parallel=int(options.get("--tensor-parallel-size") or 1),
        pipeline_parallel=int(options.get("--pipeline-parallel-size") or 1),
        port=int(options.get("--port") or 8000),
    )


def run(launch: Launch) -> Program:
    """Starts the server, or a process that dies as vLLM does."""
    serve = parse(launch.argv)
    problem = wrong(serve, launch.limit(GPU)) or _missing(launch, serve)
    if problem is not None:
        launch.log(problem)
        return Ends(launch.now + IMPORT_SECONDS / TIME_SCALE, Exit(1, problem))
    launch.log(f"loading {serve.model}: {load_seconds(serve.model, _bytes(launch, serve)):.0f} s in life")
    return Server(serve.port, launch.now + load_seconds(serve.model, _bytes(launch, serve)) / TIME_SCALE)


def wrong(serve: Serve, gpus: int) -> str | None:
    """More GPUs asked for than the container has (source: vLLM's parallel configuration check)."""
    wanted = serve.tensor_parallel * serve.pipeline_parallel
    if gpus == 0:
        return "RuntimeError: Failed to infer device type: no GPU is visible in this container"
    if wanted > gpus:
        return (
            f"ValueError: World size ({wanted}) is larger than the number of available GPUs ({gpus}) in this node. "
            "If this is intentional and you are using: - ray, set '--distributed-executor-backend ray'."
        )
    return None


def _missing(launch: Launch, serve: Serve) -> str | None:
    """A path must hold a model: its `config.json` on a mounted volume."""
    if not serve.model.startswith("/"):
        return None
    mount = launch.mount_of(serve.model)
    files = launch.world.contents.under(mount.volume, mount.inside(serve.model) or "") if mount else {}
    if files:
        return None
    return f"OSError: {serve.model} holds no model: no file named config.json found in directory {serve.model}"


def _bytes(launch: Launch, serve: Serve) -> int:
    mount = launch.mount_of(serve.model)
    return sum(launch.world.contents.under(mount.volume, mount.inside(serve.model) or "").values()) if mount else 0


def load_seconds(model: str, stored: int) -> float:
    """Seconds of life until the server answers: engine start plus reading the weights."""
    named = re.findall(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)[bB](?![A-Za-z0-9])", model)
    declared = max((float(each) for each in named), default=0.0) * 1e9 * BYTES_PER_PARAMETER
    return ENGINE_SECONDS + max(declared, float(stored)) / BYTES_PER_SECOND


class Server(Program):
    """Nothing listens until the weights are loaded; then `/health` answers on the port of the command line."""

    def __init__(self, port: int, loaded_at: float) -> None:
        self._port, self._loaded_at = port, loaded_at

    def listens(self, port: int, now: float) -> bool:
        return port == self._port and now >= self._loaded_at

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        if probe.get("exec"):
            return None
        path = (probe.get("httpGet") or {}).get("path") or "/"
        if port is None or not self.listens(port, now):
            return f'Get "http://:{port}{path}": dial tcp: connect: connection refused'
        if probe.get("httpGet") and path not in ROUTES:
            return "HTTP probe failed with statuscode: 404"
        return None

    def next_change(self, now: float) -> float | None:
        return self._loaded_at if now < self._loaded_at else None
