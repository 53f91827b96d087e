"""The queue and batch of a vLLM replica: laws that any such model obeys, and what vLLM does at its limits."""

import pytest

from rehearsed import vllm_load, vllm_metrics
from rehearsed.queueing import Done, Engine, Shape, Speed

SPEED = Speed(prefill_s=0.01, step_s=0.02, token_s=1e-7, max_seqs=256, kv_tokens=300_000)


def run(rps: float, seconds: float, speed: Speed = SPEED, tick: float = 0.5) -> tuple[Engine, list[Done], float]:
    """An engine under a load; what it answered, and the requests in it on average."""
    engine, done, area = Engine(speed), [], 0.0
    while engine.now < seconds:
        done += engine.advance(engine.now + tick, rps)
        area += (engine.running + len(engine.waiting)) * tick
    return engine, done, area / seconds


@pytest.mark.parametrize("rps", [1.0, 5.0, 12.5, 20.0])
def test_littles_law_holds(rps: float) -> None:
    """Requests in the system are arrivals times the time each stays, once the beginning does not count any more."""
    _, done, inside = run(rps, 3000.0)
    stay = sum(each.whole for each in done) / len(done)
    assert inside == pytest.approx(rps * stay, rel=0.02)


def test_nothing_comes_of_nothing_and_nothing_is_lost() -> None:
    idle, done, inside = run(0.0, 60.0)
    assert (done, inside, idle.busy, idle.kv_used) == ([], 0.0, 0.0, 0.0)
    engine, done, _ = run(7.0, 100.0)
    assert engine.came == 700
    assert engine.came == len(done) + engine.running + len(engine.waiting)
    assert engine.prefills == len(done) + len(engine.decoding)
    rest = engine.advance(engine.now + 100, 0.0)
    assert (len(done) + len(rest), engine.running, len(engine.waiting)) == (700, 0, 0)
    assert engine.generated == pytest.approx(700 * engine.shape.output, rel=1e-6)
    assert engine.kv_used == 0.0


def test_how_it_is_cut_in_time_changes_little() -> None:
    """A scrape now and then, or one a second: the same requests are answered."""
    fine, coarse = run(10.0, 300.0, tick=0.1), run(10.0, 300.0, tick=15.0)
    assert len(fine[1]) == pytest.approx(len(coarse[1]), abs=2)
    assert fine[0].generated == pytest.approx(coarse[0].generated, rel=0.01)


def test_more_than_it_can_do_waits_and_is_worked_off_when_less_comes() -> None:
    engine, _, _ = run(40.0, 120.0)
    assert engine.running == 256
    waiting = len(engine.waiting)
    assert waiting > 1000
    engine.advance(engine.now + 60, 1.0)
    assert len(engine.waiting) < waiting


def test_the_first_token_comes_later_the_more_wait() -> None:
    _, calm, _ = run(1.0, 300.0)
    _, crowded, _ = run(40.0, 300.0)
    assert calm[-1].first_token == pytest.approx(SPEED.prefill_s)
    assert crowded[-1].first_token > 100 * calm[-1].first_token
    assert crowded[-1].decode > calm[-1].decode


def test_the_batch_ends_at_its_places_or_at_the_cache() -> None:
    few, _, _ = run(50.0, 60.0, Speed(0.01, 0.02, 1e-7, max_seqs=8, kv_tokens=300_000))
    assert few.running == 8
    small, _, _ = run(50.0, 60.0, Speed(0.01, 0.02, 1e-7, max_seqs=256, kv_tokens=5_000))
    assert small.running == 5_000 // Shape().total
    assert 0.5 < small.kv_used <= 1.0
    tiny, done, _ = run(1.0, 60.0, Speed(0.01, 0.02, 1e-7, max_seqs=256, kv_tokens=10))
    assert done
    assert tiny.kv_used <= 1.0


def test_twice_the_gpus_are_twice_as_fast() -> None:
    """An 8B model of 16 GB on one and two H100: the share of the overhead apart, times halve and the cache grows."""
    one, two = (
        vllm_load.speed(vllm_load.Asked("m", gpus), 16e9, "NVIDIA-H100-80GB-HBM3", 81559, Shape()) for gpus in (1, 2)
    )
    overhead = vllm_load.STEP_OVERHEAD_S
    assert (two.step_s - overhead) == pytest.approx((one.step_s - overhead) / 2)
    assert two.prefill_s == pytest.approx(one.prefill_s / 2)
    assert two.kv_tokens > 2 * one.kv_tokens
    assert one.step_s == pytest.approx(16e9 / (3350e9 * 0.8) + overhead)
    assert (one.max_seqs, vllm_load.kv_bytes(8e9), round(vllm_load.kv_bytes(70e9))) == (1024, 131072.0, 327680)
    assert 131072 < vllm_load.kv_bytes(32e9) < 327680


def test_what_the_command_line_says_of_speed_is_read() -> None:
    words = ["vllm", "serve", "/m", "--served-model-name=chat", "--max-num-seqs 64", "--gpu-memory-utilization", "0.8"]
    limits = ["--max-model-len=4096", "--kv-cache-dtype=fp8"]
    assert vllm_load.asked([*words, *limits], "/m", 2) == vllm_load.Asked("chat", 2, 0.8, 64, 4096, 1.0)
    assert vllm_load.asked(["vllm", "serve", "/m"], "/m", 1) == vllm_load.Asked("/m", 1)
    assert vllm_load.weights(5, "/m") == vllm_load.UNKNOWN_MODEL == vllm_load.weights(0, "Qwen/Qwen3-8B")
    assert (vllm_load.weights(0, "meta-llama/Llama-3.3-70B-Instruct"), vllm_load.weights(10**10, "/m")) == (140e9, 1e10)
    slow = vllm_load.speed(vllm_load.Asked("m", 1), 16e9, "NVIDIA-L40S", 46068, Shape())
    half = vllm_load.speed(vllm_load.Asked("m", 1, kv_bytes_each=1.0), 16e9, "NVIDIA-L40S", 46068, Shape())
    assert half.token_s == pytest.approx(slow.token_s / 2)
    assert slow.max_seqs == 256
    assert half.kv_tokens == pytest.approx(2 * slow.kv_tokens, abs=1)


def test_bounds_of_token_counts_are_one_two_and_five() -> None:
    assert vllm_metrics.decades(100) == [1, 2, 5, 10, 20, 50, 100]
    assert vllm_metrics.decades(8192)[-1] == 5000
