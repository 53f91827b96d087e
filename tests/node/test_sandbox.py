"""What brings gVisor's programs to a node, run with tools that write down how they are called (Y05)."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "node" / "sandbox" / "runsc.sh"
FILES = {"runsc": b"one", "containerd-shim-runsc-v1": b"two"}
RIGHT = [hashlib.sha256(each).hexdigest() for each in FILES.values()]


def run(place: Path, digests: list[str]) -> tuple[int, list[str]]:
    """Exit code, and what was installed."""
    kept, calls = place / "bucket", place / "calls"
    kept.mkdir()
    for name, content in FILES.items():
        (kept / name).write_bytes(content)
    for tool, does in {
        "aws": f'cp "{kept}/$(basename "$4")" "$5"',
        "install": f'for each in "${{@:3:2}}"; do basename "$each" >> {calls}; done; echo "to ${{@: -1}}" >> {calls}',
    }.items():
        stub = place / tool
        stub.write_text(f"#!/bin/bash\n{does}\n")
        stub.chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", str(SCRIPT), "s3://acme-tools/gvisor", *digests],
        env={"PATH": f"{place}:/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    return done.returncode, calls.read_text().split("\n")[:-1] if calls.exists() else []


def test_both_programs_come_to_where_containerd_looks(tmp_path: Path) -> None:
    assert run(tmp_path, RIGHT) == (0, [*FILES, "to /usr/local/bin/"])


@pytest.mark.parametrize("wrong", [0, 1])
def test_nothing_is_installed_if_one_of_them_is_another(tmp_path: Path, wrong: int) -> None:
    digests = [*RIGHT]
    digests[wrong] = "0" * 64
    code, installed = run(tmp_path, digests)
    assert code != 0
    assert installed == []
