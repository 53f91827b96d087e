"""The copier's script with the real AWS CLI: what is whole is copied, and nothing else (T01: hash validation)."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.storage.aws_cli import AwsCli
from components.training.backup import script
from rehearsal.tests.cloud.conftest import REGION, ROOT, Cloud

BUCKET, PREFIX = "saves-of-runs", "checkpoints/sft"


@pytest.fixture
def copied(cloud: Cloud) -> Iterator[Cloud]:
    """A cloud with an empty bucket."""
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    yield cloud
    for key in keys(cloud):
        s3.delete_object(Bucket=BUCKET, Key=key)
    s3.delete_bucket(Bucket=BUCKET)


def keys(cloud: Cloud) -> list[str]:
    return [each["Key"] for each in cloud.client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def save(directory: Path, name: str, age: int, *, whole: bool = True) -> Path:
    """A checkpoint of two shards that was made so many seconds ago."""
    made = directory / name
    (made / "rank 0").mkdir(parents=True)
    shards = {"rank 0/shard.pt": b"0" * 1000, "shard-1.pt": name.encode()}
    for each, content in shards.items():
        (made / each).write_bytes(content)
    if whole:
        sums = [f"{hashlib.sha256(content).hexdigest()}  {each}\n" for each, content in shards.items()]
        (made / "SHA256SUMS").write_text("".join(sums))
    os.utime(made, (1_700_000_000 - age,) * 2)
    return made


def copy(cloud: Cloud, directory: Path) -> subprocess.CompletedProcess[str]:
    """The script as the container runs it."""
    env = {
        "PATH": f"{ROOT / '.venv/bin'}:/usr/bin:/bin",
        "CHECKPOINT_DIR": str(directory),
        "CHECKPOINT_URI": f"s3://{BUCKET}/{PREFIX}",
        **cloud.account.variables,
        "AWS_DEFAULT_REGION": REGION,
    }
    return subprocess.run(
        ["sh", "-c", script(AwsCli(image="aws-cli:2"))], env=env, capture_output=True, text=True, timeout=60
    )


def test_the_newest_whole_save_is_copied_with_its_hashes(tmp_path: Path, copied: Cloud) -> None:
    save(tmp_path, "step 100", age=200)
    save(tmp_path, "step 200", age=100)
    save(tmp_path, "step 300", age=0, whole=False)
    done = copy(copied, tmp_path)
    assert done.returncode == 0, done.stderr
    at = f"{PREFIX}/step 200"
    assert sorted(keys(copied)) == [f"{at}/SHA256SUMS", f"{at}/rank 0/shard.pt", f"{at}/shard-1.pt"]
    assert done.stdout.splitlines()[-1].startswith("upload: ./SHA256SUMS to"), "the sums, which say whole, go last"
    assert "SHA256SUMS" not in "".join(done.stdout.splitlines()[:-1])


def test_the_newest_step_is_copied_whatever_the_clocks_say(tmp_path: Path, copied: Cloud) -> None:
    """An old save is young by its clock, as after a mark is made in it, and step 10 comes after step 9; what has no
    step is no save.
    """
    save(tmp_path, "step-9", age=0)
    save(tmp_path, "step-10", age=300)
    save(tmp_path, "weights", age=0)
    done = copy(copied, tmp_path)
    assert done.returncode == 0, done.stderr
    assert {key.removeprefix(f"{PREFIX}/").partition("/")[0] for key in keys(copied)} == {"step-10"}


def test_a_damaged_save_is_not_copied(tmp_path: Path, copied: Cloud) -> None:
    """One byte of a file that is as long as before."""
    (save(tmp_path, "step-1", age=0) / "shard-1.pt").write_bytes(b"stop-1")
    done = copy(copied, tmp_path)
    assert done.returncode != 0
    assert "shard-1.pt: FAILED" in done.stdout + done.stderr
    assert keys(copied) == []


def test_a_save_that_is_there_already_is_not_read_again(tmp_path: Path, copied: Cloud) -> None:
    """As it is after a run has ended: without its files the hashes could not be made. A save of the same step with
    other files is another one, also by a node whose clock is behind.
    """
    kept = save(tmp_path, "step-1", age=0)
    assert copy(copied, tmp_path).returncode == 0
    shard = kept / "shard-1.pt"
    content = shard.read_bytes()
    shard.unlink()
    again = copy(copied, tmp_path)
    assert (again.returncode, again.stdout) == (0, "step-1 is in the object store already\n"), again.stderr
    shard.write_bytes(b"stop-1")
    os.utime(shard, (1_600_000_000,) * 2)
    sums = kept / "SHA256SUMS"
    before, after = (hashlib.sha256(each).hexdigest() for each in (content, b"stop-1"))
    sums.write_text(sums.read_text().replace(before, after))
    last = copy(copied, tmp_path)
    assert last.returncode == 0, last.stderr
    assert copied.client("s3").get_object(Bucket=BUCKET, Key=f"{PREFIX}/step-1/shard-1.pt")["Body"].read() == b"stop-1"


def test_before_the_first_save_there_is_nothing_to_do(tmp_path: Path, copied: Cloud) -> None:
    (tmp_path / "notes.txt").touch()
    save(tmp_path, "step-1", age=0, whole=False)
    done = copy(copied, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"no directory of {tmp_path} holds SHA256SUMS yet, so there is nothing whole to copy\n"
    assert keys(copied) == []
