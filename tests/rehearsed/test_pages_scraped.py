"""The real Prometheus over the pages of a loaded server and of the exporters of a broken node, without a cluster."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.devices import dcgm_exporter
from rehearsal.images import node_exporter
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.simulated import GPU, Node
from rehearsed import vllm

from .prometheus import Asked, prometheus

pytestmark = pytest.mark.engine


class Machine(Node):
    """One L40S with a vLLM server on it, and both exporters."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "g6e.xlarge")
        self.world.allotted.offer(self.host.node, GPU, ())
        chat = self.pod("chat-0", **{GPU: "1"})
        self.world.allotted.take(self.host.node, chat)
        words = ("vllm", "serve", "Qwen/Qwen3-8B", "--served-model-name=chat", "--load-format=dummy", "--port=8000")
        spec = chat["spec"]["containers"][0]
        vllm.run(self.launch(chat, spec=spec, command=words, now=time.monotonic() - 3600))
        dcgm_exporter.run(self.launch(self.pod("dcgm-0"), spec={"name": "e", "image": "dcgm-exporter:4.5.3-4.8.2"}))
        node_exporter.run(self.launch(self.pod("node-0"), args=("--collector.systemd",)))

    def targets(self) -> dict[str, str]:
        places = {"vllm": ("chat-0", 8000), "dcgm": ("dcgm-0", 9400), "node": ("node-0", 9100)}
        found = {job: self.world.backends.find("ns", *place) for job, place in places.items()}
        return {job: f"{address[0]}:{address[1]}" for job, address in found.items()}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.world.backends.close()


@pytest.fixture
def asked(machine: Machine, tmp_path: Path) -> Iterator[Asked]:
    """Asks a Prometheus that scrapes the machine once a second."""
    jobs: list[dict[str, Any]] = [
        {"job_name": job, "scrape_interval": "1s", "scrape_timeout": "1s", "static_configs": [{"targets": [address]}]}
        for job, address in machine.targets().items()
    ]
    with prometheus(tmp_path, {"scrape_configs": jobs}) as (ask, process):
        until(lambda: len(ask("up == 1")) == 3, 30, f"all three are scraped:\n{process.last_words()}")
        yield ask


def test_twenty_requests_a_second_wait_before_one_l40s(machine: Machine, asked: Asked) -> None:
    assert [value for _, value in asked("vllm:num_requests_waiting")] == [0]
    now = time.time()
    machine.offer("chat", 20.0, now, now + 600)
    until(lambda: asked("vllm:num_requests_waiting > 50"), 60, "requests wait")
    until(lambda: asked("rate(vllm:generation_tokens_total[5s]) > 1000"), 30, "tokens are made")
    until(
        lambda: asked('DCGM_FI_DEV_GPU_UTIL{exported_pod="chat-0"} > 90 or DCGM_FI_DEV_GPU_UTIL{pod="chat-0"} > 90'),
        30,
        "busy",
    )
    assert asked("histogram_quantile(0.5, rate(vllm:time_to_first_token_seconds_bucket[10s]))")


def test_failures_are_seen_and_pass(machine: Machine, asked: Asked) -> None:
    assert [value for _, value in asked("DCGM_FI_DEV_XID_ERRORS")] == [0]
    for kind in ("gpu-unavailable", "main-memory", "system-services"):
        machine.fail(kind, time.time())
    until(lambda: asked("DCGM_FI_DEV_XID_ERRORS == 79"), 15, "the Xid")
    until(lambda: not asked("DCGM_FI_DEV_GPU_TEMP"), 15, "nothing else of that GPU")
    until(lambda: asked("node_memory_HardwareCorrupted_bytes > 0"), 15, "the page that is out of use")
    until(lambda: asked('node_systemd_unit_state{name="containerd.service",state="failed"} == 1'), 15, "containerd")
    machine.heal(time.time())
    until(lambda: asked("DCGM_FI_DEV_XID_ERRORS == 0"), 15, "the GPU is well")
    until(lambda: asked('node_systemd_unit_state{name="containerd.service",state="active"} == 1'), 15, "and containerd")
