"""Where a run goes on: which save all of its ranks take, by real directories; torch alone is played (T01, J15).

tests/node/test_train.py has the same with PyTorch's own processes, where there is one.
"""

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import copying
import pytest
import saves

from tests.node.test_saves import save

Resumable = Callable[..., Path | None]


class Ranks(ModuleType):
    """torch.distributed as one rank has it: what the others gather, and what the first one says to all."""

    def __init__(self) -> None:
        super().__init__("torch.distributed")
        self.rank, self.others, self.first = 0, list[int | None](), list[int | None]()

    def get_rank(self) -> int:
        return self.rank

    def get_world_size(self) -> int:
        return 1 + len(self.others)

    def all_gather_object(self, found: list[Any], value: int | None) -> None:
        found[:] = [value, *self.others]

    def broadcast_object_list(self, told: list[Any], src: int) -> None:
        assert src == 0
        if self.rank:
            told[:] = [self.first.pop(0)]


@pytest.fixture
def ranks() -> Ranks:
    return Ranks()


@pytest.fixture
def resumable(ranks: Ranks, monkeypatch: pytest.MonkeyPatch) -> Iterator[Resumable]:
    """node/trainer/state.py's, on these ranks."""
    torch = ModuleType("torch")
    torch.distributed, torch.nn = ranks, ModuleType("torch.nn")  # type: ignore[attr-defined]
    torch.nn.Module = object
    for name, module in {"torch": torch, "torch.distributed": ranks, "torch.nn": torch.nn}.items():
        monkeypatch.setitem(sys.modules, name, module)
    yield importlib.import_module("state").resumable
    sys.modules.pop("state")


@pytest.fixture
def local(tmp_path: Path) -> Path:
    (tmp_path / "local").mkdir()
    return tmp_path / "local"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


def test_a_pod_that_gives_way_leaves_its_last_save_and_the_one_in_its_place_begins_there(
    resumable: Resumable, local: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What preemption is to a pod: SIGTERM, upon which it saves and its copier brings that save on, then its own disk
    is gone. A save that was cut is nobody's.
    """
    save(shared, 1)
    save(local, 2)
    (saves.begin(local, 3) / "__0_0.distcp").write_bytes(b"half")
    monkeypatch.setattr(copying, "_wait", lambda *_: True)
    words = ["--every-seconds=900", "--keep=2", "--part=0", "--parts=1"]
    assert copying.main([f"--local={local}", f"--shared={shared}", *words]) == 0
    shutil.rmtree(local)
    local.mkdir()
    assert resumable(local, shared, lambda _: None) == shared / saves.name_of(2)


def test_where_all_nodes_kept_their_disks_the_save_there_is_read(
    resumable: Resumable, ranks: Ranks, local: Path, shared: Path
) -> None:
    """It is the newest, and nobody else reads the file system meanwhile."""
    said: list[str] = []
    save(shared, 3)
    save(local, 3)
    ranks.others = [3, 3]
    assert resumable(local, shared, said.append) == local / saves.name_of(3)
    save(shared, 4)
    assert resumable(local, shared, said.append) == shared / saves.name_of(4), "another node's run went on"
    assert resumable(local, None, said.append) == local / saves.name_of(3)


@pytest.mark.parametrize(("others", "told"), [([None, 3], "3, None"), ([2, 3], "2, 3")])
def test_where_one_node_is_new_or_behind_all_read_the_shared_one(
    resumable: Resumable, ranks: Ranks, local: Path, shared: Path, others: list[int | None], told: str
) -> None:
    said: list[str] = []
    save(shared, 1)
    save(local, 3)
    ranks.others = others
    assert resumable(local, shared, said.append) == shared / saves.name_of(1)
    assert said == [f"the nodes' local disks do not all have the same newest step: {told}"]
    assert resumable(local, None, said.append) is None


def test_what_is_skipped_is_said_and_why(resumable: Resumable, shared: Path) -> None:
    said: list[str] = []
    save(shared, 1)
    (shared / saves.name_of(2)).mkdir()
    assert resumable(None, shared, said.append) == shared / saves.name_of(1)
    assert said == [f"skipped {shared / saves.name_of(2)}: half, it has no SHA256SUMS: it was never finished"]
    assert resumable(None, None, said.append) is None
    shutil.rmtree(shared / saves.name_of(1))
    assert resumable(None, shared, said.append) is None


def test_a_rank_that_is_not_the_first_takes_its_word_for_the_shared_one(
    resumable: Resumable, ranks: Ranks, local: Path, shared: Path
) -> None:
    """It hashes nothing there: a thousand ranks would read the same files."""
    save(shared, 9)
    ranks.rank, ranks.others, ranks.first = 1, [None], [7, 7]
    assert resumable(local, shared, lambda _: None) == shared / saves.name_of(7)
