"""Weights are what their SHA256SUMS says, or the copy fails and names the file (Q05, I03). The script runs, in sh."""

import hashlib
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.storage.staged import Staged
from components.storage.sums import DATA, SUMS, WEIGHTS, checked
from rehearsal.images import s3sync
from tests.components.samples import CLI, built
from tests.components.samples.storage import weights_args

SOURCE = "s3://models/it's here"
Run = Callable[[str | None], subprocess.CompletedProcess[str]]


def sums(place: Path, *names: str) -> str:
    """Write the file as `sha256sum` does; its own digest."""
    lines = (f"{hashlib.sha256((place / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (place / "SHA256SUMS").write_text("".join(lines))
    return hashlib.sha256((place / "SHA256SUMS").read_bytes()).hexdigest()


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    place = tmp_path / "bucket"
    (place / "1").mkdir(parents=True)
    (place / "model one.safetensors").write_bytes(b"weights" * 99)
    (place / "1" / "model.plan").write_bytes(b"more")
    (place / "config.json").write_text("{}")
    sums(place, "model one.safetensors", "1/model.plan", "config.json")
    return place


@pytest.fixture
def run(bucket: Path, tmp_path: Path) -> Run:
    """The copy and what follows; the copier's words are a cp here."""

    def copied(sha256: str | None) -> subprocess.CompletedProcess[str]:
        target = tmp_path / "shared"
        script = checked(
            ["cp", "-r", f"{bucket}/.", str(target)], str(target), source=SOURCE, sha256=sha256, kind=WEIGHTS
        )
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20)

    return copied


def test_what_is_as_its_sums_say_is_taken(run: Run, bucket: Path) -> None:
    own = hashlib.sha256((bucket / SUMS).read_bytes()).hexdigest()
    for sha256 in (None, own):
        done = run(sha256)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{SOURCE}: every file is what {SUMS} says\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model one.safetensors", b"of somebody else"),
        ("1/model.plan", b"of somebody else"),
        ("config.json", None),
        (SUMS, b"nothing that sha256sum knows\n"),
    ],
    ids=["another", "another below", "missing", "sums that cannot be read"],
)
def test_one_file_that_differs_fails_in_one_sentence_that_names_it(
    run: Run, bucket: Path, name: str, content: bytes | None
) -> None:
    if content is None:
        (bucket / name).unlink()
    else:
        (bucket / name).write_bytes(content)
    done = run(None)
    assert done.returncode == 1
    assert done.stderr == f"{SOURCE}/{name} is not what {SUMS} says: upload it again, or find out who changed it\n"


def test_without_sums_the_copy_says_so_and_goes_on(run: Run, bucket: Path) -> None:
    (bucket / SUMS).unlink()
    done = run(None)
    assert (done.returncode, done.stdout) == (0, f"{SOURCE} has no {SUMS}: nothing was compared\n")


def test_with_a_digest_there_must_be_sums_and_these(run: Run, bucket: Path) -> None:
    done = run("ab" * 32)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{SOURCE}/{SUMS} is not the one whose digest the stack file has")
    (bucket / SUMS).unlink()
    # What an earlier try copied is another directory in a cluster: the digest is part of its name.
    (bucket.parent / "shared" / SUMS).unlink()
    done = run("ab" * 32)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{SOURCE}/{SUMS} is not there")


@pytest.mark.parametrize("name", ["extra.safetensors", "1/extra.bin", "config.json.safetensors", "SHA256SUMS.bak"])
def test_with_a_digest_a_file_beside_the_listed_ones_fails(run: Run, bucket: Path, name: str) -> None:
    """Whoever can write there can add what a server loads."""
    own = hashlib.sha256((bucket / SUMS).read_bytes()).hexdigest()
    (bucket / name).write_bytes(b"added")
    done = run(own)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{SOURCE}/{name} is not in {SUMS}")
    assert run(None).returncode == 0


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Files at any depth, with names that a shell takes apart, and sums as `find -exec sha256sum` writes them."""
    place = tmp_path / "data"
    names = ["2024/en/web/a shard.bin", "-n", "*.bin", "one.bin"]
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(name.encode())
    sums(place, *(f"./{name}" for name in names))
    return place


def compared(place: Path) -> subprocess.CompletedProcess[str]:
    own = hashlib.sha256((place / SUMS).read_bytes()).hexdigest()
    script = checked(["true"], str(place), source=SOURCE, sha256=own, kind=DATA)
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20)


def test_data_is_taken_whose_every_file_is_listed_however_deep_i03(data: Path) -> None:
    done = compared(data)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{SOURCE}: every file is what {SUMS} says\n"


@pytest.mark.parametrize("name", ["2024/en/web/b.bin", " first", "one.bin.bak", "2024/SHA256SUMS", "one.bin\n-n", "\n"])
def test_a_file_that_is_not_listed_fails_the_copy_of_data_i03(data: Path, name: str) -> None:
    """One of two lines is no two files that are listed: whoever can write there can add what a run reads."""
    (data / name).write_bytes(b"added")
    done = compared(data)
    assert done.returncode == 1
    assert done.stderr.startswith(SOURCE)
    assert len(done.stderr.strip().splitlines()) == 1
    if "\n" not in name:
        assert done.stderr == (
            f"{SOURCE}/{name} is not in {SUMS}: remove it, or write {SUMS} anew and correct sha256\n"
        )


def test_data_that_differs_or_lacks_its_sums_fails_i03(data: Path) -> None:
    (data / "2024/en/web/a shard.bin").write_bytes(b"flipped")
    assert compared(data).stderr.startswith(f"{SOURCE}/./2024/en/web/a shard.bin is not what {SUMS} says")
    (data / SUMS).unlink()
    script = checked(["true"], str(data), source=SOURCE, sha256="ab" * 32, kind=DATA)
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert done.stderr.endswith("the stack file has its digest: upload it, or correct sha256\n")


def test_a_copy_that_fails_is_not_compared(tmp_path: Path) -> None:
    script = checked(["false"], str(tmp_path), source=SOURCE, sha256=None, kind=WEIGHTS)
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_the_rehearsal_finds_the_download_in_the_script() -> None:
    words = CLI.fetch("s3://models/llama", "/models/llama-1")
    for kind in (WEIGHTS, DATA):
        script = checked(words, "/models/llama-1", source="s3://models/llama", sha256="ab" * 32, kind=kind)
        assert s3sync.downloads(["sh", "-c", script]) == [s3sync.Copy("models", "llama/", "/models/llama-1")]
        assert s3sync.listings(["sh", "-c", script]) == []


def test_another_digest_is_another_directory_and_another_job() -> None:
    """A Job's template cannot change; and what an earlier digest let in stays where it was."""

    def job(**more: Any) -> tuple[str, str]:
        graph = built(lambda opts: Staged("sample", replace(weights_args(), **more), opts))
        inputs = graph.one("sample-copy").inputs
        copy = inputs["spec"]["template"]["spec"]["containers"][0]
        words = str([*copy["command"], *copy["args"]]).replace("\\n", " ")
        return str(inputs["metadata"]["name"]), re.findall(r" '?(/models/[\w-]+)", words)[0]

    plain, compared, pinned = job(), job(compared=WEIGHTS), job(compared=WEIGHTS, sha256="ab" * 32)
    assert len({plain[0], compared[0], pinned[0]}) == 3
    assert plain[1] == compared[1] != pinned[1]


@pytest.mark.parametrize(
    ("sha256", "directory"), [(None, "/models/llama-24a466cb"), ("ab" * 32, "/models/llama-7972009a")]
)
def test_the_pod_copies_and_compares_by_one_script(sha256: str | None, directory: str) -> None:
    graph = built(lambda opts: Staged("sample", replace(weights_args(), compared=WEIGHTS, sha256=sha256), opts))
    copy = graph.one("sample-copy").inputs["spec"]["template"]["spec"]["containers"][0]
    source = "s3://models/llama"
    script = checked(CLI.fetch(source, directory), directory, source=source, sha256=sha256, kind=WEIGHTS)
    assert (copy["command"], copy["args"]) == (["sh"], ["-c", script])
