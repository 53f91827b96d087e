"""huggingface_hub's `hf` in vLLM's image: one commit of a model from huggingface.co onto a volume.

The hub has every model that somebody names, with the files that vLLM needs, of the size that its published name tells
("8B" in 16 bits). Those of the makers in `GATED` need a token of an account that has been let in: any token has. A
revision is a commit, or `main`. Source: huggingface_hub 1.28, cli/_errors.py (its words), cli/download.py; the gates of
these makers: their models' pages.
"""

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

GATED = ("meta-llama/", "mistralai/", "google/")
BYTES_PER_PARAMETER = 2
BYTES_PER_SECOND = 1e8
_COMMIT = re.compile(r"[0-9a-f]{40}|main")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_BILLIONS = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)[bB](?![A-Za-z0-9])")
_ADAPTER_BYTES = 100_000_000


@dataclass(frozen=True)
class Download:
    """What a script downloads, and where the files are when it is done."""

    repository: str
    revision: str
    local_dir: str
    final: str


def run(launch: Launch) -> Program:
    """Does what the script says, in the time that it takes; the files are there at once, where it ends well."""
    wanted = parse(launch.argv)
    problem = refused(wanted, launch.env.get("HF_TOKEN", "")) if wanted else "sh: hf: no download among its commands"
    if wanted is None or problem is not None:
        launch.log(str(problem))
        return Ends(launch.now + 2 / TIME_SCALE, Exit(1, str(problem)))
    mount = launch.mount_of(wanted.final)
    if mount is None or mount.read_only:
        text = f"OSError: [Errno 30] Read-only file system: '{wanted.local_dir}'"
        launch.log(text)
        return Ends(launch.now + 2 / TIME_SCALE, Exit(1, text))
    found = files(wanted.repository)
    root = mount.inside(wanted.final) or ""
    there = launch.world.contents.under(mount.volume, root)
    if not there:
        launch.world.contents.add(mount.volume, {posixpath.join(root, name): size for name, size in found.items()})
    launch.log(f"Verified {len(found)} file(s) for model '{wanted.repository}'. All checksums match.")
    seconds = 0 if there else sum(found.values()) / BYTES_PER_SECOND
    return Ends(launch.now + (2 + seconds) / TIME_SCALE, Exit(0))


def downloads(argv: Sequence[str]) -> bool:
    """Whether a command line is one of ours. Pure."""
    return "hf download" in " ".join(argv)


def parse(argv: Sequence[str]) -> Download | None:
    """The download in `sh -c SCRIPT NAME ARGUMENT...`; None if there is none. Pure."""
    words = list(argv)
    if len(words) < 3 or "c" not in words[1]:
        return None
    values = {str(index): word for index, word in enumerate(words[4:], start=1)}
    lines = words[2].splitlines()
    for line in lines:
        for name, value in re.findall(r"(\w+)=(\S+)", line) if not line.startswith("hf ") else ():
            values[name] = _filled(value.strip('"'), values)
    fetched = next((each for each in lines if each.startswith("hf download ")), None)
    moved = next((each for each in lines if each.startswith("mv ")), None)
    if fetched is None or moved is None:
        return None
    said = [_filled(word, values) for word in shlex.split(fetched)]
    return Download(
        repository=said[2],
        revision=said[said.index("--revision") + 1] if "--revision" in said else "main",
        local_dir=said[said.index("--local-dir") + 1],
        final=_filled(shlex.split(moved)[2], values),
    )


def _filled(word: str, values: dict[str, str]) -> str:
    """A word with the shell's variables in it replaced."""
    return re.sub(r"\$(\w+)", lambda found: values.get(found[1], ""), word)


def refused(wanted: Download, token: str) -> str | None:
    """Why the hub does not give it, in the words of its client. Pure."""
    if not _REPOSITORY.fullmatch(wanted.repository):
        return f"Error: Model '{wanted.repository}' not found."
    if wanted.repository.startswith(GATED) and not token:
        return f"Error: Access denied. Model '{wanted.repository}' requires approval."
    if not _COMMIT.fullmatch(wanted.revision):
        return f"Error: Revision not found in model '{wanted.repository}'."
    return None


def files(repository: str) -> dict[str, int]:
    """The files of a model or, where its name tells no size, of an adapter, with their sizes in bytes. Pure."""
    sizes = [float(each) for each in _BILLIONS.findall(repository)]
    if not sizes:
        return {"adapter_config.json": 1000, "adapter_model.safetensors": _ADAPTER_BYTES}
    weights = int(max(sizes) * 1e9 * BYTES_PER_PARAMETER)
    return {"config.json": 1000, "tokenizer.json": 9_000_000, "model.safetensors": weights}
