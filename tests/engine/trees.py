"""Copies of the program in which a test makes a change: the program itself has no switches for tests."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
"""The program."""
STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


@dataclass
class Tree:
    """A copy of the working tree, with the changes that a test makes in it."""

    root: Path
    _originals: dict[Path, str] = field(default_factory=dict)

    @classmethod
    def copy(cls, root: Path, source: Path = ROOT) -> "Tree":
        """What git tracks or would track, with its virtual environment at hand."""
        words = ["git", "-C", str(source), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\0")
        for name in filter(None, listed):
            if (source / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, root / name)
        (root / ".venv").symlink_to(source / ".venv")
        return cls(root)

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace the one place where `old` stands in a file; AssertionError if there is none, or several."""
        text = self.text(path)
        assert text.count(old) == 1, f"{path} holds this {text.count(old)} times: {old!r}"
        self.write(path, text.replace(old, new))

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    def write(self, path: str, text: str) -> None:
        """Give a file of the tree other content; `restore` takes it back."""
        file = self.root / path
        self._originals.setdefault(file, file.read_text())
        file.write_text(text)

    def stack(self, name: str) -> "StackFile":
        return StackFile(self, f"Pulumi.{name}.yaml")

    def restore(self) -> None:
        """Take every change back."""
        for file, text in self._originals.items():
            file.write_text(text)
        self._originals.clear()

    @contextmanager
    def changed(self) -> Iterator["Tree"]:
        """The tree for changes that are taken back at the end."""
        try:
            yield self
        finally:
            self.restore()


@dataclass(frozen=True)
class StackFile:
    """A stack's file; a path is like `gpucluster:pools[1].count`."""

    tree: Tree
    name: str

    def set(self, path: str, value: Any) -> "StackFile":
        """Give the key at `path` a value; keys on the way must be there, the last one may be new."""
        content = yaml.safe_load(self.tree.text(self.name))
        *way, last = (key or int(index) for key, index in STEP.findall(path))
        node = content["config"]
        for step in way:
            node = node[step]
        node[last] = value
        self.tree.write(self.name, yaml.safe_dump(content, sort_keys=False))
        return self

    def get(self, path: str) -> Any:
        node = yaml.safe_load(self.tree.text(self.name))["config"]
        for key, index in STEP.findall(path):
            node = node[key or int(index)]
        return node
