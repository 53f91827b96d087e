"""Secret values of a stack, and every place where one of them stands in clear."""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal import procfs
from rehearsal.engine.run import Engine
from rehearsal.engine.state import SIGNATURE, resources

SAMPLE_SECONDS = 0.1
SHORTEST = 12
"""Characters; a shorter text says nothing by standing somewhere."""
CERTIFICATE = "-----BEGIN CERTIFICATE-----"
CLUSTER_STORES = ("etcd-data",)
"""Directories that are the API server's own store: who may read a Secret is what the API server decides."""


def secret_values(engine: Engine) -> dict[str, set[str]]:
    """Every secret text of the stack by where it comes from: the configuration, and what the state keeps sealed."""
    options = ("--config-file", str(engine.config_file)) if engine.config_file else ()
    shown = json.loads(engine.ask("config", "--json", "--show-secrets", "--stack", engine.stack, *options))
    found = {key: {each["value"]} for key, each in shown.items() if each["secret"]}
    for entry in resources(engine.export(show_secrets=True)):
        texts = set(_sealed([entry.get("inputs"), entry.get("outputs")]))
        if texts:
            found[entry["urn"].rpartition("::")[2]] = texts
    return found


def _sealed(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and SIGNATURE in value:
        if "plaintext" in value:
            yield from _texts(json.loads(value["plaintext"]))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _sealed(each)
    elif isinstance(value, list):
        for each in value:
            yield from _sealed(each)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= SHORTEST and not _public(value):
            yield value
        return
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for each in members:
        yield from _texts(each)


def _public(text: str) -> bool:
    """A certificate, plain or in base64: it lies in a Secret beside its key, and everybody may have it."""
    return text.startswith((CERTIFICATE, base64.b64encode(CERTIFICATE.encode()).decode()[:-4]))


def forms(values: Mapping[str, set[str]]) -> dict[bytes, str]:
    """What to look for -> whose secret it is: each text as it is, as a JSON string and in base64."""
    found: dict[bytes, str] = {}
    for owner, texts in values.items():
        for text in texts:
            for form in (text, json.dumps(text)[1:-1], base64.b64encode(text.encode()).decode().rstrip("=")):
                found.setdefault(form.encode(), owner)
    return found


def leaks_in(content: bytes, wanted: Mapping[bytes, str]) -> set[str]:
    """Whose secrets stand in this text."""
    return {owner for form, owner in wanted.items() if form in content}


def leaks_below(directory: Path, wanted: Mapping[bytes, str]) -> dict[str, set[str]]:
    """Files below a directory in which a secret stands -> whose; the clusters' own stores are left out."""
    files = (path for path in directory.rglob("*") if path.is_file() and not set(CLUSTER_STORES) & set(path.parts))
    found = {str(path.relative_to(directory)): leaks_in(_content(path), wanted) for path in files}
    return {name: owners for name, owners in found.items() if owners}


def _content(path: Path) -> bytes:
    """Nothing, if a process that works there has taken the file away since it was listed."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


@dataclass
class CommandLines:
    """Every different command line of a process and its descendants, looked at ten times a second."""

    root: int
    lines: set[bytes] = field(default_factory=set)

    def look(self) -> None:
        for pid in procfs.tree(self.root):
            try:
                self.lines.add(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").strip())
            except OSError:
                continue


@contextmanager
def command_lines(root: int) -> Iterator[CommandLines]:
    """Look at the command lines of a process and all that it starts, until the end."""
    seen, done = CommandLines(root), threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLE_SECONDS):
            seen.look()

    watcher = threading.Thread(target=watch, name="command lines", daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()
