"""What `make bench` measures of racked machines: a stack that plans, and not the shipped one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.bench import __main__ as bench
from tests.bench import racks
from tests.planner.stacks import metal_plan_of


@dataclass
class Session:
    """Of an engine that makes a resource of each machine, and one more, at one a second."""

    machines: int

    @property
    def engine(self) -> "Session":
        return self

    def seed(self, text: str, *, hosts: bool) -> None:
        assert not hosts
        assert "gpucluster:pools" in text

    def preview(self) -> "Session":
        return self

    def require(self) -> SimpleNamespace:
        steps = self.machines + 1
        return SimpleNamespace(seconds=float(steps), record=SimpleNamespace(changes={"create": steps}))


class Tree:
    """A tree that is its stack file alone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()

    @classmethod
    def copy(cls, root: Path) -> "Tree":
        return cls(root)

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)


@pytest.mark.parametrize("count", [64, 256])
def test_the_machines_that_are_measured_are_a_stack_that_plans(count: int) -> None:
    found = metal_plan_of(racks.config(count))
    assert [each.sentence for each in found.errors] == []
    assert found.pools["training"].count == count


def test_a_preview_of_many_machines_reads_their_stack_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine reads the tree's file: without one both counts were the shipped machines."""
    read: dict[str, int] = {}

    @contextmanager
    def throw_away(name: str, *_: Any, tree: Path | None = None) -> Iterator[Session]:
        assert tree is not None
        file = yaml.safe_load((tree / "Pulumi.metal.yaml").read_text())
        read[name] = file["config"]["gpucluster:pools"][1]["count"]
        yield Session(read[name])

    monkeypatch.setattr(bench, "throw_away", throw_away)
    monkeypatch.setattr(bench, "Tree", Tree)
    whole, over = bench.previewed()
    assert read == {"bench-64": 64, "bench-256": 256}
    assert (whole.value, over.value) == (257, 257 / 65)


def test_a_preview_of_fewer_machines_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def session(_: int) -> Iterator[Session]:
        yield Session(17)

    monkeypatch.setattr(bench, "_racked_session", session)
    with pytest.raises(SystemExit, match="a preview of 64 machines had 18 steps"):
        bench.previewed()
