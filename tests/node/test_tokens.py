"""A run reads real tokens: files one after the other, each step its own, and what no model can read is refused.

PyTorch is a list of numbers here; what is real are the files, and where each sequence begins and ends.
"""

import importlib
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


class Numbers(list[Any]):
    """A tensor as far as batches are cut: parts of it, rows of it, its largest."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return Numbers(found) if isinstance(at, slice) else found

    def long(self) -> "Numbers":
        return self

    def max(self) -> int:
        return int(max(max(row) for row in self))


def from_file(path: str, *, shared: bool, size: int, dtype: str) -> Numbers:
    assert (shared, dtype) == (False, "int32")
    return Numbers(array("i", Path(path).read_bytes())[:size])


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    torch: Any = ModuleType("torch")
    torch.Tensor, torch.int32, torch.from_file = Numbers, "int32", from_file
    torch.cat = lambda parts: Numbers(number for part in parts for number in part)
    torch.stack = Numbers
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "tokens", raising=False)
    yield importlib.import_module("tokens")
    sys.modules.pop("tokens", None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Tokens 0 to 29 in three files, one of them below a directory, beside a file of hashes."""
    (tmp_path / "b").mkdir()
    for name, first, last in (("a.bin", 0, 7), ("b/x.bin", 7, 8), ("c.bin", 8, 30)):
        (tmp_path / name).write_bytes(array("i", range(first, last)).tobytes())
    (tmp_path / "SHA256SUMS").write_text("none of the tokens")
    return tmp_path


def test_sequences_follow_each_other_over_files_and_begin_again_at_the_end(tokens: Any, data: Path) -> None:
    """[sequences, length + 1], of which whole ones count: seven of four."""
    found = tokens.Files(data, vocab=30)
    assert found.batch(0, 2, 3) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert found.batch(1, 2, 3) == [[8, 9, 10, 11], [12, 13, 14, 15]]
    assert found.batch(3, 2, 3) == [[24, 25, 26, 27], [0, 1, 2, 3]], "the rest of the last file is no sequence"
    assert found.batch(1, 2, 3) == found.batch(1, 2, 3), "a run that resumes reads what it would have"


def test_what_cannot_be_trained_on_is_said(tokens: Any, data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a token is 29, and the model has 29: another tokenizer made them"):
        tokens.Files(data, vocab=29).batch(1, 1, 14)
    with pytest.raises(ValueError, match="the files have 30 tokens, fewer than one sequence of 31; add data"):
        tokens.Files(data, vocab=30).batch(0, 1, 30)
    with pytest.raises(FileNotFoundError, match=r"no \*\.bin files in .*: copy the dataset there"):
        tokens.Files(tmp_path / "b" / "none", vocab=30)
