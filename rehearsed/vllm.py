"""vLLM's OpenAI-compatible server: ready when its weights are loaded, failed if its arguments are impossible.

Source: vLLM's engine arguments (`vllm serve MODEL`, `--model`, `--tensor-parallel-size`, `--host`, `--port` 8000); what
it answers once the engine is up is in `openai.py`. Load times are those of life and run faster by the kubelet's time
scale: the bytes of the model's files, read at what their file system gives and at 1 GB/s at most, none with
`--load-format dummy`.
A model that is fetched from a hub has the size that its published name tells ("8B" in bfloat16).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from botocore.exceptions import ClientError

from rehearsal.devices import cuda
from rehearsal.devices.gpus import GPU
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Mount, Program
from rehearsed import hub, vllm_load
from rehearsed.openai import OpenAi
from rehearsed.streams import Streams

ENGINE_SECONDS = 60.0
BYTES_PER_SECOND = 1e9
IMPORT_SECONDS = 10.0
SCRATCH_MBPS_PER_TIB = 200


@dataclass(frozen=True)
class Serve:
    """What the command line asks for."""

    model: str
    tensor_parallel: int
    pipeline_parallel: int
    port: int
    load_format: str = "auto"
    names: tuple[str, ...] = ()
    adapters: tuple[tuple[str, str], ...] = ()
    max_model_len: int = 8192
    key: str = ""
    drain_seconds: float | None = None
    host: str = ""

    @property
    def local(self) -> bool:
        """Whether it listens on the pod's loopback alone."""
        return self.host in ("127.0.0.1", "localhost", "::1")


def parse(argv: Sequence[str]) -> Serve:
    """Reads a `vllm serve` command line (or `python -m vllm.entrypoints.openai.api_server`). Pure."""
    words = [word for part in argv for word in (part.split() if " " in part else [part])]
    options: dict[str, str] = {}
    positional: list[str] = []
    adapters: list[tuple[str, str]] = []
    short = {"-tp": "--tensor-parallel-size", "-pp": "--pipeline-parallel-size"}
    index = 0
    while index < len(words):
        name, equals, value = words[index].partition("=")
        if name == "--lora-modules":
            index += 1
            while index < len(words) and not words[index].startswith("-"):
                module, _, path = words[index].partition("=")
                adapters.append((module, path))
                index += 1
        elif name.startswith("-"):
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
        load_format=options.get("--load-format") or "auto",
        names=tuple(options["--served-model-name"].split(",")) if "--served-model-name" in options else (),
        adapters=tuple(adapters),
        max_model_len=int(options.get("--max-model-len") or 8192),
        key=options.get("--api-key") or "",
        drain_seconds=float(options["--shutdown-timeout"] or 0) if "--shutdown-timeout" in options else None,
        host=options.get("--host") or "",
    )


def port(argv: Sequence[str]) -> int:
    """The one port of the pod on which the server of a command line accepts; 0 where it listens inside only. Pure."""
    serve = parse(argv)
    return 0 if serve.local else serve.port


def run(launch: Launch) -> Program:
    """Starts the server, or a process that dies as vLLM does; or downloads a model, as the image can too."""
    if hub.downloads(launch.argv):
        return hub.run(launch)
    serve = parse(launch.argv)
    image = str(launch.spec["image"])
    problem = (
        unread(serve, image) or wrong(serve, launch.limit(GPU)) or _missing(launch, serve) or cuda.unusable(launch)
    )
    if problem is not None:
        launch.log(problem)
        return Ends(launch.now + IMPORT_SECONDS / TIME_SCALE, Exit(1, problem))
    mount = launch.mount_of(serve.model) if serve.model.startswith("/") else None
    seconds = load_seconds(serve, _bytes(launch, serve), _rate(launch, mount) if mount else BYTES_PER_SECOND)
    launch.log(f"loading {serve.model}: {seconds:.0f} s in life")
    keys = [key for key in (serve.key, launch.env.get("VLLM_API_KEY", "")) if key]
    models = [*(serve.names[:1] or (serve.model,)), *(name for name, _ in serve.adapters)]
    loaded_at, gpus = launch.now + seconds / TIME_SCALE, serve.tensor_parallel * serve.pipeline_parallel
    replica = vllm_load.begin(launch, serve.model, gpus, _bytes(launch, serve), loaded_at)
    streams = Streams(serve.drain_seconds or 0, launch.wake)
    api = OpenAi(models, serve.model, serve.max_model_len, keys, _version(image), replica.page, streams)
    return vllm_load.Server(launch, {serve.port: api.answer}, loaded_at, replica, streams, local=serve.local)


def unread(serve: Serve, image: str) -> str | None:
    """An option that a version does not know: --shutdown-timeout came with 0.18 (source: vLLM pull request 36666)."""
    version = tuple(int(part) for part in _version(image).split(".")[:2] if part.isdigit())
    if serve.drain_seconds is not None and version and version < (0, 18):
        return "vllm: error: unrecognized arguments: --shutdown-timeout"
    return None


def _version(image: str) -> str:
    found = re.search(r":v?(\d+\.\d+(?:\.\d+)?)", image)
    return found[1] if found else ""


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
    """A path must hold a model: its `config.json` on a mounted volume; and that of an adapter its own."""
    if not serve.model.startswith("/"):
        return None
    if not _held(launch, serve.model):
        return f"OSError: {serve.model} holds no model: no file named config.json found in directory {serve.model}"
    if serve.load_format == "safetensors" and not any(name.endswith(".safetensors") for name in _files(launch, serve)):
        # vllm/model_executor/model_loader/default_loader.py, _prepare_weights
        return f"RuntimeError: Cannot find any model weights with `{serve.model}`"
    for name, path in serve.adapters:
        if not _held(launch, path):
            return f"vllm.exceptions.LoRAAdapterNotFoundError: Loading lora {name} failed: No adapter found for {path}"
    return None


def _held(launch: Launch, path: str) -> bool:
    mount = launch.mount_of(path)
    return bool(mount and launch.world.contents.under(mount.volume, mount.inside(path) or ""))


def _files(launch: Launch, serve: Serve) -> Mapping[str, int]:
    """What lies below the model's path, with sizes."""
    mount = launch.mount_of(serve.model)
    return launch.world.contents.under(mount.volume, mount.inside(serve.model) or "") if mount else {}


def _bytes(launch: Launch, serve: Serve) -> int:
    return sum(_files(launch, serve).values())


def _rate(launch: Launch, mount: Mount) -> float:
    """Bytes a second that a server reads from a volume: a share of nothing, as nobody else reads here.

    Source: FSx for Lustre user guide, performance: throughput per TiB of storage, 200 MB/s for SCRATCH_2.
    """
    _, _, id_ = mount.volume.partition("csi:fsx.csi.aws.com:")
    if not id_:
        return BYTES_PER_SECOND
    try:
        (system,) = launch.world.aws.fsx.describe_file_systems(FileSystemIds=[id_])["FileSystems"]
    except ClientError:
        return BYTES_PER_SECOND
    per_tib = (system.get("LustreConfiguration") or {}).get("PerUnitStorageThroughput") or SCRATCH_MBPS_PER_TIB
    return min(BYTES_PER_SECOND, float(system["StorageCapacity"]) / 1024 * per_tib * 1e6)


def load_seconds(serve: Serve, stored: int, bytes_per_second: float) -> float:
    """Seconds of life until the server answers: engine start plus reading the weights. Pure."""
    if serve.load_format == "dummy":
        return ENGINE_SECONDS
    return ENGINE_SECONDS + max(vllm_load.published(serve.model), float(stored)) / bytes_per_second
