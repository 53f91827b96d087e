"""The reference trainer on real PyTorch, two processes over gloo: it learns, stops, resumes, at another size too.

It needs an interpreter that imports torch: TORCH_PYTHON names one, else this one is asked. Sharding (FSDP2) takes
PyTorch 2.6, whole weights any; an attention kernel that older ones lack is written out for them, and so is what FSDP2
needs on processors before 2.7: streams that take events (pytorch/pytorch, pull request 145935), and a copy into
gathered weights that autograd does not count as a change of them, as on GPUs (issue 136303).
"""

import os
import re
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import saves

TRAINER = Path(saves.__file__).parent
PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
BEGIN = """
import contextlib, sys, torch
sys.path.insert(0, sys.argv.pop(1))
from torch.nn import functional
if not hasattr(functional, "scaled_dot_product_attention"):
    def attend(queries, keys, values, is_causal):
        scores = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5
        length = scores.shape[-1]
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
        return scores.softmax(-1).type_as(values) @ values
    functional.scaled_dot_product_attention = attend
if hasattr(torch.cpu, "Stream") and not hasattr(torch.cpu.Stream, "record_event"):
    torch.cpu.Stream.record_event = lambda self, event=None: event
    torch.cpu.Stream.wait_event = lambda self, event: None
    split = torch.split_with_sizes_copy
    def uncounted(*asked, out, **more):
        with contextlib.ExitStack() as kept:
            for each in out:
                kept.enter_context(torch.autograd._unsafe_preserve_version_counter(each))
            split(*asked, out=out, **more)
    torch.split_with_sizes_copy = uncounted
import train
sys.exit(train.main(sys.argv[1:]))
"""
SIZES = [
    *("--layers=2", "--hidden=32", "--ffn=64", "--heads=4", "--kv-heads=2", "--head-dim=8", "--vocab=64"),
    *("--model=tiny", "--sequence-length=32", "--micro-batch-size=4", "--global-batch-size=16"),
    *("--learning-rate=0.01", "--warmup-steps=5"),
]


@cache
def torch_version() -> tuple[int, int]:
    """Of PyTorch; (0, 0) where there is none."""
    words = [PYTHON, "-c", "import torch; print(torch.__version__)"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    version = re.match(r"(\d+)\.(\d+)", found.stdout)
    return (int(version[1]), int(version[2])) if version else (0, 0)


def begun(ranks: int, *words: str, sharding: str = "none") -> list[subprocess.Popen[str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    known = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    known["USE_LIBUV"] = "0"  # Debian's PyTorch was built without it
    known["PYTHONPATH"] = str(TRAINER.with_name("staging"))  # in a pod all files lie side by side
    asked = [*SIZES, f"--sharding={sharding}", *words]
    return [
        subprocess.Popen(
            [PYTHON, "-c", BEGIN, str(TRAINER), *asked],
            env={**known, "RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]


def ended(processes: list[subprocess.Popen[str]]) -> tuple[list[int], str]:
    """Statuses, and what rank 0 said."""
    said = [each.communicate(timeout=300)[0] for each in processes]
    return [each.returncode for each in processes], "\n".join(said)


def losses(said: str) -> dict[int, float]:
    return {int(step): float(loss) for step, loss in re.findall(r"step (\d+) loss ([\d.]+)", said)}


@pytest.fixture(params=["none", "fsdp"])
def sharding(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    least = (2, 6) if kind == "fsdp" else (1, 13)
    if torch_version() < least:
        there = ".".join(map(str, torch_version())) if torch_version() != (0, 0) else "none"
        pytest.skip(f"PyTorch {least[0]}.{least[1]} is needed, and {PYTHON} has {there}; TORCH_PYTHON names another")
    return kind


def test_it_learns_saves_stops_and_resumes_where_it_was(tmp_path: Path, sharding: str) -> None:
    """J15, KJ08: what follows a stop, at the same size and at another, is what an undisturbed run would have done."""
    whole = f"--checkpoint-dir={tmp_path / 'whole'}"
    status, said = ended(begun(2, whole, "--steps=12", sharding=sharding))
    assert status == [0, 0], said
    undisturbed = losses(said)
    assert undisturbed[12] < undisturbed[1]

    parts = f"--checkpoint-dir={tmp_path / 'parts'}"
    processes = begun(2, parts, "--steps=1000000", sharding=sharding)
    assert processes[0].stdout is not None
    for line in processes[0].stdout:
        if line.startswith("step 6 "):
            break
    for each in processes:
        each.send_signal(signal.SIGTERM)
    status, said = ended(processes)
    assert status == [143, 143], said
    found, skipped = saves.newest(tmp_path / "parts")
    assert found is not None
    assert skipped == []
    stopped = saves.step_of(found)
    assert stopped is not None

    corrupt = tmp_path / "parts" / saves.name_of(stopped + 1)
    corrupt.mkdir()
    status, said = ended(begun(1, parts, f"--steps={max(12, stopped + 1)}", sharding=sharding))
    assert status == [0], said
    assert f"skipped {corrupt}: half" in said
    assert f"resumed from {found}: step {stopped}, saved by 2 ranks" in said
    for step, loss in losses(said).items():
        if step in undisturbed:
            assert loss == pytest.approx(undisturbed[step], abs=0.02)


def test_saves_of_a_nodes_own_disk_go_on_to_the_shared_one(tmp_path: Path, sharding: str) -> None:
    local, shared = tmp_path / "local", tmp_path / "shared"
    places = [f"--local-checkpoint-dir={local}", f"--checkpoint-dir={shared}", "--checkpoint-keep=1"]
    status, said = ended(begun(2, *places, "--steps=3", sharding=sharding))
    assert status == [0, 0], said
    assert [saves.step_of(each) for each in saves.saves_in(shared)] == [3]
    status, said = ended(begun(2, *places, "--steps=4", sharding=sharding))
    assert f"resumed from {local / saves.name_of(3)}" in said
    assert saves.newest(shared)[0] == shared / saves.name_of(4)
