"""Model servers in a pod: what they need on their volumes, when they answer, and what probes hear (Q04, Q12)."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from components.serving.hub import DOWNLOAD
from rehearsal.cluster.pages import Request
from rehearsal.kubelet.program import Launch, Mount, Program
from rehearsal.tests.inside.simulated import Node
from rehearsed import hub, triton, vllm

VOLUME = "csi:shared"
VLLM = ["vllm", "serve", "/models/chat", "--served-model-name=chat", "--lora-modules", "sql=/adapters/sql"]
TRITON = ["tritonserver", "--model-repository=/triton/vision", "--metrics-port=8002"]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """A container with a GPU and a shared file system, of which it sees all."""
    node = Node(tmp_path, "g6e.xlarge")
    spec = {"name": "c", "image": "vllm/vllm-openai:v0.29.0", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    pod = node.pod("p", **{"nvidia.com/gpu": "1"})
    yield node.launch(pod, spec=spec, mounts=(Mount("/", VOLUME),), directory=tmp_path / "c", now=time.monotonic())
    node.world.backends.close()


def started(launch: Launch, argv: Sequence[str], files: Mapping[str, int]) -> Program:
    launch.world.contents.add(VOLUME, dict(files))
    run = triton.run if argv[0] == "tritonserver" else vllm.run
    return run(replace(launch, command=argv))


def said(program: Program) -> str:
    ended = program.exited(time.monotonic() + 1000)
    return ended.message if ended else ""


def test_vllm_needs_its_adapters_on_the_volume(launch: Launch) -> None:
    model = {"models/chat/config.json": 1}
    assert "Loading lora sql failed: No adapter found for /adapters/sql" in said(started(launch, VLLM, model))
    both = started(launch, VLLM, {"adapters/sql/adapter_config.json": 1})
    assert said(both) == ""
    assert both.refuses({"httpGet": {"path": "/health"}}, 8000, time.monotonic() + 100) is None
    assert "404" in (both.refuses({"httpGet": {"path": "/healthz"}}, 8000, time.monotonic() + 100) or "")
    assert "refused" in (both.refuses({"httpGet": {"path": "/health"}}, 8000, launch.now) or "")


def test_vllm_on_loopback_is_reached_by_no_probe(launch: Launch) -> None:
    files = {"models/chat/config.json": 1, "adapters/sql/adapter_config.json": 1}
    inside = started(launch, [*VLLM, "--host=127.0.0.1", "--port=8001"], files)
    assert "refused" in (inside.refuses({"httpGet": {"path": "/health"}}, 8001, time.monotonic() + 100) or "")
    assert vllm.port([*VLLM, "--host=127.0.0.1", "--port=8001"]) == 0
    assert vllm.port([*VLLM, "--host=0.0.0.0", "--port=8001"]) == 8001


def test_vllm_takes_no_pickles_where_it_is_told_to_take_safetensors(launch: Launch) -> None:
    words = [each for each in VLLM if "sql" not in each and each != "--lora-modules"] + ["--load-format=safetensors"]
    model = {"models/chat/config.json": 1, "models/chat/pytorch_model.bin": 10}
    assert "Cannot find any model weights with `/models/chat`" in said(started(launch, words, model))
    assert said(started(launch, words, {**model, "models/chat/model.safetensors": 10})) == ""


def test_triton_needs_its_repository_and_is_ready_on_its_own_path(launch: Launch) -> None:
    assert "failed to stat file /triton/vision" in said(started(launch, TRITON, {}))
    server, later = started(launch, TRITON, {"triton/vision/cat/config.pbtxt": 1}), time.monotonic() + 100
    assert said(server) == ""
    assert server.refuses({"httpGet": {"path": "/v2/health/ready"}}, 8000, later) is None
    assert "404" in (server.refuses({"httpGet": {"path": "/health"}}, 8000, later) or "")
    assert server.listens(8002, later)
    assert not server.listens(8002, launch.now)


def test_triton_on_loopback_is_reached_by_no_probe(launch: Launch) -> None:
    words = [*TRITON, "--http-address=127.0.0.1", "--http-port=8001", "--metrics-address=127.0.0.1"]
    server, later = started(launch, words, {"triton/vision/cat/config.pbtxt": 1}), time.monotonic() + 100
    assert "refused" in (server.refuses({"httpGet": {"path": "/v2/health/ready"}}, 8001, later) or "")
    assert (triton.port(words), triton.port(TRITON)) == (0, 8000)


def test_triton_itself_lets_anybody_change_it() -> None:
    """What its door is for."""
    assert triton.serving(Request("POST", "/v2/repository/index")).status == 200
    assert triton.serving(Request("POST", "/v2/logging")).status == 200


def test_what_the_hubs_client_brings_is_what_vllm_serves(launch: Launch) -> None:
    words = ["sh", "-c", DOWNLOAD, "download", "meta-llama/Meta-Llama-3-8B", "1" * 40, "/models/chat"]
    assert "requires approval" in said(vllm.run(replace(launch, command=words)))
    given = replace(launch, command=words, env={"HF_TOKEN": "hf_x"})
    assert said(vllm.run(given)) == ""
    assert launch.world.contents.under(VOLUME, "models/chat").keys() == {
        f"models/chat/{name}" for name in hub.files("meta-llama/Meta-Llama-3-8B")
    }
