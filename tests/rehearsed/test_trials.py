"""A training script as a trial: what its shell starts, what it prints, and how it and its collector end (R02)."""

import ast
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.kubeflow.experiment import REFERENCE_FORMAT
from planner.workloads import REFERENCE
from rehearsal.images.katib import collector, observed
from rehearsal.images.katib.asking import RefusedError
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.program import TIME_SCALE, Exit, Launch, Mount
from rehearsed import trials

LOG = "/var/log/katib/metrics.log"
"""Where Katib has the first rank write (pkg/webhook/v1beta1/pod/const.go)."""
LINE = f"torchrun {REFERENCE[0]} --note 'two words' --learning-rate={{rate}} 1>{LOG} 2>&1{{rest}}"
STOPS = " || if test -f /var/log/katib/$$.pid && [ $(head -n 1 x) = early-stopped ]; then echo; fi"


class Pod:
    """A trial's first rank and the collector beside it, on one volume; `reports` is what the collector tells whom."""

    def __init__(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, rate: float, *rules: str, refuses: bool = False
    ) -> None:
        self.reports: list[tuple[str, str, Any]] = []
        self._work: list[Callable[[], float | None]] = []

        def told(method: str) -> Callable[..., None]:
            def tell(_: str, address: str, *message: Any) -> None:
                if refuses:
                    raise RefusedError("nobody listens")
                self.reports.append((address, method, message))

            return tell

        for method in ("report", "set_stopped"):
            monkeypatch.setattr(collector, method, told(method))
        world: Any = SimpleNamespace(
            contents=Contents(directory / "volumes.json"),
            proxy=SimpleNamespace(url=""),
            tasks=SimpleNamespace(run=lambda _, work: self._work.append(work), cancel=lambda _: None),
        )
        mount = Mount("/var/log/katib", "pod:u:metrics-volume", name="metrics-volume")
        pod: Any = {"metadata": {"name": "any", "namespace": "x"}, "spec": {}}

        def launch(name: str, argv: list[str]) -> Launch:
            spec = {"name": name}
            return Launch(world, pod, spec, "n", argv[:1], argv[1:], {}, [mount], directory / name, _nothing, 0.0)

        shell = trials.parse(["sh", "-c", LINE.format(rate=rate, rest=STOPS if rules else "")])
        assert shell
        self.trial = trials.Trial(trials.inner(launch("pytorch", ["sh"]), shell), shell)
        words = ["-t", "rates-1", "-m", "loss", "-o-type", "minimize", "-s-db", "db:6789", "-path", LOG]
        words += ["-f", REFERENCE_FORMAT]
        for rule in rules:
            words += ["-stop-rule", rule, "-s-earlystop", "stop:6788"]
        self.collector = collector.Collector(launch("metrics-logger-and-collector", words))

    def run(self, steps: int) -> tuple[Exit | None, Exit | None]:
        """How both have ended after so many steps."""
        for step in range(steps + 1):
            now = step * trials.STEP_SECONDS / TIME_SCALE
            self.trial.exited(now)
            if self.collector.exited(now) is None:
                self._work[0]()
        return self.trial.exited(now), self.collector.exited(now)


def _nothing() -> None:
    pass


def test_the_program_is_found_in_its_shell() -> None:
    shell = trials.parse(["sh", "-c", LINE.format(rate=1, rest="")])
    assert shell
    assert shell.words == ("torchrun", REFERENCE[0], "--note", "two words", "--learning-rate=1")
    assert (shell.file, shell.stops) == (LOG, False)
    assert trials.parse(["torchrun", "train.py"]) is None
    assert trials.parse(["sh", "-c", "echo hello"]) is None


def test_a_trial_that_ends_reports_what_the_reference_trainer_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = Pod(tmp_path, monkeypatch, trials.BEST_RATE)
    assert pod.run(trials.STEPS - 1) == (None, None)
    assert pod.run(trials.STEPS + 1) == (Exit(0), Exit(0))
    ((address, method, (trial, log)),) = pod.reports
    assert (address, method, trial) == ("db:6789", "report", "rates-1")
    values = [float(value) for _, value in log]
    assert len(values) == trials.STEPS
    assert values == sorted(values, reverse=True)


def test_a_rate_near_the_best_one_wins() -> None:
    ends = {rate: trials.losses([f"--learning-rate={rate}"])[-1] for rate in (1e-5, 1e-4, 3e-4, 1e-3, 1e-2)}
    assert min(ends, key=lambda rate: ends[rate]) == trials.BEST_RATE


def test_a_rate_too_high_fails_and_its_collector_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, beside = Pod(tmp_path, monkeypatch, 1.0).run(9)
    assert ended
    assert beside
    assert (ended.code, beside.code) == (1, 255)
    assert "the loss of step 4 is nan" in ended.message


def test_a_trial_that_is_worse_is_ended_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = Pod(tmp_path, monkeypatch, 1e-2, "loss;5.0;greater;3")
    assert pod.run(2) == (None, None)
    assert pod.run(6) == (Exit(0), Exit(0))
    assert [(address, method) for address, method, _ in pod.reports] == [
        ("db:6789", "report"),
        ("stop:6788", "set_stopped"),
    ]
    assert 3 <= len(pod.reports[0][2][1]) < trials.STEPS


def test_a_collector_without_a_database_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, beside = Pod(tmp_path, monkeypatch, 1e-3, refuses=True).run(trials.STEPS + 1)
    assert beside
    assert (beside.code, beside.message) == (255, "Failed to Report logs: nobody listens")


def told_by_the_trainer(step: int, loss: float) -> str:
    """What node/trainer/train.py prints of a step, out of its source: importing it needs PyTorch."""
    source = ast.parse((Path(__file__).parents[2] / "node" / "trainer" / "train.py").read_text(encoding="utf-8"))
    (tell,) = (each for each in ast.walk(source) if isinstance(each, ast.FunctionDef) and each.name == "_tell")
    (text,) = (
        call.args[0]
        for call in ast.walk(tell)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "say"
    )
    known = {"self": SimpleNamespace(step=step), "loss": loss, "tokens": 8000, "seconds": 1.0}
    return str(eval(compile(ast.Expression(text), "train.py", "eval"), known))  # noqa: S307 - the tree's own line


def test_the_line_that_is_played_is_the_reference_trainers_own() -> None:
    assert trials.line([trials.REFERENCE], 4, 2.71828) == told_by_the_trainer(4, 2.71828)


def test_the_format_of_the_reference_trainer_finds_its_lines() -> None:
    """Nothing else that it prints has the name."""
    lines = [
        "resumed from /checkpoints/step-3: step 3, saved by 8 ranks",
        told_by_the_trainer(4, 2.71828),
        "saved step 4 to /checkpoints in 0.3 s",
        told_by_the_trainer(5, 0.00001),
        "step 6 loss 1e-05 51234 tokens/s",
    ]
    found = observed.values(lines, ["loss"], [REFERENCE_FORMAT])
    assert found == [("loss", "2.7183"), ("loss", "0.0000"), ("loss", "1e-05")]
