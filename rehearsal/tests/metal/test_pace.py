"""Tools take the time that their documentation says, as far as the machine's pace says it."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rehearsal.metal.machine import Gpu, Machine
from rehearsal.metal.tools import clock, gpus, kubernetes, machine

H100 = Gpu("NVIDIA H100 80GB HBM3", 8, "580.126.20", 200, 700, 1980)
Waited = Callable[[Callable[[], int]], float]


@pytest.fixture
def waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Waited:
    """The seconds that a call waits on a machine that is half as slow as in life."""
    monkeypatch.setattr(machine, "PLACE", str(tmp_path))
    monkeypatch.setattr(machine, "BOOTED", str(tmp_path / "booted"))
    machine.write(f"{tmp_path}/facts", Machine("gpu", "10.0.0.1", "S", gpu=H100, pace=0.5).facts())
    machine.write(f"{tmp_path}/booted", {"active": {"chrony.service": {}}})
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)

    def of(call: Callable[[], int]) -> float:
        slept.clear()
        call()
        return sum(slept)

    return of


def test_gpus_that_nobody_keeps_initialized_take_a_second_each(waited: Waited) -> None:
    def asked() -> int:
        return gpus.main("nvidia-smi", ["--query-gpu=persistence_mode", "--format=csv,noheader"])

    assert waited(asked) == 4
    assert waited(lambda: gpus.main("nvidia-smi", ["-pm", "1"])) == 4
    assert waited(asked) == 0


def test_a_clock_that_is_off_is_waited_for_to_the_end(waited: Waited) -> None:
    assert waited(lambda: clock.main("chronyc", ["waitsync", "6", "0.5", "0", "5"])) == 15


@pytest.mark.parametrize(("config", "seconds"), [("controlPlane:\n  certificateKey: k\n", 30), ("discovery: {}\n", 0)])
def test_a_machine_of_the_control_plane_pulls_its_images(
    config: str, seconds: float, waited: Waited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_valid", "checked"):
        monkeypatch.setattr(kubernetes, name, lambda *_, **__: 0)
    monkeypatch.setattr(kubernetes, "_kubelet_runs", lambda: 0)
    monkeypatch.setattr(kubernetes, "_prepared", dict)
    monkeypatch.setattr(kubernetes, "ask", lambda _: {"error": "nobody is there"})
    (tmp_path / "join.yaml").write_text(config)
    assert waited(lambda: kubernetes._join(str(tmp_path / "join.yaml"))) == seconds


def test_a_machine_waits_for_nothing_unless_it_is_told_a_pace() -> None:
    assert Machine("gpu", "10.0.0.1", "S").pace == 0
