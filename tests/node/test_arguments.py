"""What the launch builder tells the trainer is what the trainer reads."""

import urllib.error
import urllib.request
from pathlib import Path

import arguments
import metrics
import pytest

from components.training.launch import launch
from monitoring.run_metrics import RUN_METRICS
from tests.components.test_launch import PLACES, recipe


def told(**changes: object) -> list[str]:
    words = launch(recipe("reference", script=["/t.py"], sharding="fsdp", **changes)).words
    return list(words[1:])


def test_every_flag_of_the_plan_is_read_and_none_is_unknown() -> None:
    """Or a number that was planned would be nobody's."""
    asked = arguments.parse(
        told(places=PLACES, steps=9, directory="/data", metrics_port=9464, profile=(3, 4), recompute="full")
    )
    assert (asked.layers, asked.kv_heads, asked.vocab, asked.sequence_length) == (32, 8, 128256, 4096)
    assert (asked.micro_batch_size, asked.global_batch_size, asked.accumulation) == (3, 360, 5)
    assert (asked.checkpoint_dir, asked.local_checkpoint_dir) == (Path("/checkpoints"), Path("/local-checkpoints"))
    assert (asked.checkpoint_every_seconds, asked.checkpoint_keep, asked.resume) == (901.0, 4, "auto")
    assert asked.shared_checkpoint_every_seconds == 1802.0
    assert (asked.steps, asked.data_dir, asked.metrics_port) == (9, Path("/data"), 9464)
    assert (asked.profile_from, asked.profile_to, asked.recompute, asked.sharding) == (3, 4, "full", "fsdp")


@pytest.mark.parametrize("word", ["--tensor-parallel=2", "--precision=fp8", "--method=lora", "--layers=0", "--new=1"])
def test_what_it_cannot_do_ends_it(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments.parse([*told(), word])
    assert ended.value.code == 2
    assert word.partition("=")[0] in capsys.readouterr().err


def test_another_number_of_ranks_than_planned_ends_a_run_of_fixed_size() -> None:
    assert arguments.accumulation(arguments.parse(told()), 24) == 5
    with pytest.raises(ValueError, match="16 data-parallel ranks started, but the plan has 24"):
        arguments.accumulation(arguments.parse(told()), 16)


@pytest.mark.parametrize(("ranks", "passes"), [(24, 5), (20, 6), (12, 10), (23, 5), (1000, 1)])
def test_an_elastic_run_keeps_its_batch_at_each_size_kj08(ranks: int, passes: int) -> None:
    """360 sequences in passes of 3 on each rank."""
    assert arguments.accumulation(arguments.parse(told(elastic=True)), ranks) == passes


def test_its_metrics_are_those_that_dashboards_ask_for() -> None:
    assert {each.name: each.type for each in RUN_METRICS} == metrics.TYPES


def test_metrics_are_told_as_they_were_last_set() -> None:
    found = metrics.Metrics()
    assert found.text() == ""
    found.set(step=7, loss=2.5)
    found.add("tokens_total", 100)
    found.add("tokens_total", 50)
    assert found.text() == (
        "# TYPE training_step gauge\ntraining_step 7\n"
        "# TYPE training_loss gauge\ntraining_loss 2.5\n"
        "# TYPE training_tokens_total counter\ntraining_tokens_total 150\n"
    )
    with pytest.raises(KeyError, match="training_speed is not a metric of a run"):
        found.set(speed=1)
    with pytest.raises(KeyError, match="training_speed is not a metric of a run"):
        found.add("speed", 1)


def test_prometheus_reads_them_over_http() -> None:
    found = metrics.Metrics()
    found.set(step=3)
    server = metrics.serve(found, 0, "127.0.0.1")
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:  # noqa: S310 - our own address
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert answer.read().decode().endswith("training_step 3\n")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/other", timeout=10)  # noqa: S310 - our own address
    finally:
        server.shutdown()
        server.server_close()
