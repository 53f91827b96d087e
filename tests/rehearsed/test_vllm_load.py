"""A vLLM server under a load that a person offers to its Service: what its `/metrics` say, and what its GPU does."""

import re
import time
from pathlib import Path

import pytest

from rehearsal.cluster.pages import texts
from rehearsal.kubelet.allotted import Holder
from rehearsal.kubelet.program import Exit, Launch
from rehearsal.tests.inside.simulated import GPU, Node, one, samples
from rehearsal.tests.vendors import listed_metrics
from rehearsed import vllm
from rehearsed.streams import Streams
from rehearsed.vllm_load import Replica, Server, asked

START = 1_000_000.0
ABSENT = ":(corrupted_requests|iteration_tokens|kv_block|lora_requests)"
"""What adapters and switches add, and samples of an engine step."""


class Clock:
    """Both clocks of the machine, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = START
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """One L40S, as in the stack dev."""
    return Node(tmp_path, "g6e.xlarge")


def launch(node: Node, name: str = "chat-0") -> Launch:
    return node.launch(node.pod(name, **{GPU: "1"}), spec={"name": "main", "image": "i:1"})


def replica(node: Node, name: str = "chat-0", loaded_at: float = START) -> Replica:
    words = ["vllm", "serve", "/m", "--served-model-name=chat", "--max-model-len=8192"]
    return Replica(launch(node, name), asked(words, "/m", 1), 16e9, loaded_at)


def test_requests_are_counted_and_labelled_as_vllm_does(node: Node, clock: Clock) -> None:
    served = replica(node)
    node.offer("chat", 2.0, START, START + 600)
    clock.now += 120
    page = served.page()
    (labels,) = [labels for labels, _ in samples(page)["vllm:num_requests_running"]]
    assert labels == {"engine": "0", "model_name": "chat"}
    answered = one(page, "vllm:request_success_total", finished_reason="length")
    assert 200 < answered < 240
    assert one(page, "vllm:e2e_request_latency_seconds_count") == answered
    assert one(page, "vllm:request_prompt_tokens_sum") == 161 * answered
    assert one(page, "vllm:inter_token_latency_seconds_count") == 337 * answered
    assert one(page, "vllm:generation_tokens_total") >= 338 * answered
    assert one(page, "vllm:num_requests_waiting") == 0
    assert one(page, "vllm:time_to_first_token_seconds_bucket", le="0.1") == answered
    assert 0 < one(page, "vllm:kv_cache_usage_perc") < 0.2


def test_twenty_a_second_are_more_than_one_l40s_can_do(node: Node, clock: Clock) -> None:
    served = replica(node)
    node.offer("chat", 20.0, START, START + 600)
    clock.now += 300
    page = served.page()
    assert one(page, "vllm:num_requests_waiting") > 100
    assert one(page, "vllm:num_requests_waiting_by_reason", reason="capacity") > 100
    assert one(page, "vllm:num_requests_waiting_by_reason", reason="deferred") == 0
    holder = Holder("ns", "chat-0", "main")
    assert node.world.allotted.working(holder).compute == pytest.approx(1.0, abs=0.01)
    assert node.world.allotted.working(holder).memory == 0.9


def test_a_load_is_shared_by_ready_replicas_and_another_services_is_not(node: Node, clock: Clock) -> None:
    first, second, other = replica(node), replica(node, "chat-1"), replica(node, "code-0")
    node.offer("chat", 10.0, START, START + 600)
    for _ in range(60):
        clock.now += 1
        for each in (first, second, other):
            each._tick()
    pages = [each.page() for each in (first, second, other)]
    tokens = [one(page, "vllm:prompt_tokens_total") for page in pages]
    assert tokens[0] == tokens[1] == pytest.approx(161 * 5 * 60, rel=0.02)
    assert tokens[2] == 0


def test_a_load_ends_with_its_time_and_what_waits_is_worked_off(node: Node, clock: Clock) -> None:
    served = replica(node)
    node.offer("chat", 4.0, START, START + 30)
    for _ in range(120):
        clock.now += 1
        served._tick()
    page = served.page()
    assert one(page, "vllm:num_requests_running") == one(page, "vllm:kv_cache_usage_perc") == 0
    assert one(page, "vllm:request_success_total", finished_reason="length") == pytest.approx(120, abs=4)
    assert node.world.allotted.working(Holder("ns", "chat-0", "main")).compute == 0


def test_a_server_that_still_loads_answers_nothing_and_counts_nothing(node: Node, clock: Clock) -> None:
    served = replica(node, loaded_at=START + 100)
    node.offer("chat", 10.0, START, START + 600)
    clock.now += 99
    assert one(served.page(), "vllm:prompt_tokens_total") == 0
    clock.now += 11
    assert one(served.page(), "vllm:prompt_tokens_total") > 0


def test_the_server_answers_on_its_port_once_loaded(node: Node, clock: Clock) -> None:
    pages = texts({"/health": str})
    server = Server(launch(node), {8000: pages}, START + 10, replica(node), Streams(0, print))
    health = {"httpGet": {"path": "/health"}}
    assert "refused" in (server.refuses(health, 8000, START + 9) or "")
    assert server.refuses(health, 8000, START + 10) is None
    assert "refused" in (server.refuses(health, 8080, START + 10) or "")
    assert "404" in (server.refuses({"httpGet": {"path": "/healthz"}}, 8000, START + 10) or "")
    assert server.next_change(START + 9) == START + 10
    assert node.world.backends.handler("ns", "chat-0", 8000) is None
    clock.now += 10
    assert node.world.backends.handler("ns", "chat-0", 8000) is not None
    server.stop()
    assert node.world.backends.handler("ns", "chat-0", 8000) is None
    assert not node.work


def test_a_gpu_that_fails_ends_the_server_and_lets_no_other_begin(node: Node, clock: Clock) -> None:
    node.world.allotted.offer(node.host.node, GPU, ())
    pod = node.pod("chat-9", **{GPU: "1"})
    node.world.allotted.take(node.host.node, pod)
    server = Server(launch(node), {8000: texts({})}, START, replica(node), Streams(0, print))
    assert server.struck("nccl-timeout") is None
    assert "unknown error" in (server.struck("gpu-unavailable") or Exit(0)).message
    node.fail("gpu-unavailable", START)
    spec = pod["spec"]["containers"][0]
    ended = vllm.run(node.launch(pod, spec=spec, command=("vllm", "serve", "Qwen/Qwen3-8B", "--port=8000")))
    assert "busy or unavailable" in (ended.exited(START + 1e6) or Exit(0)).message


def test_every_name_that_vllm_exports_is_there_and_no_other(node: Node, clock: Clock) -> None:
    """Against the names in the vendors' data, where that is at hand."""
    listed = {name: each["type"] for name, each in listed_metrics().items()}
    vendor = {name: kind for name, kind in listed.items() if name.startswith("vllm:") and kind != "removed"}
    page = replica(node).page()
    kinds = dict(line.split(" ")[2:] for line in page.splitlines() if line.startswith("# TYPE vllm:"))
    since = {
        f"{name.removesuffix('_total') if kind == 'counter' else name}_created": kind for name, kind in kinds.items()
    }
    assert kinds.keys() - vendor.keys() == {name for name, kind in since.items() if kind != "gauge"}
    assert {name: kind for name, kind in kinds.items() if name in vendor} == {
        name: kind for name, kind in vendor.items() if not re.search(ABSENT, name)
    }
