"""The trainer's image: what its build looks for, what is in it, what make does with it (O01, O10, AB02, Y08, Y09)."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from components.training.trainer import TRAINER, trainer_files
from planner.dockerfiles import instructions

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "images" / "trainer"
REPOSITORY = "123456789012.dkr.ecr.us-east-2.amazonaws.com/lab/trainer"
LIBRARIES = {"efa": ("libnccl-net-ofi.so", "libfabric.so.1"), "infiniband": ("libibverbs.so.1", "libmlx5.so.1")}


def looked(fabric: str, directory: Path) -> subprocess.CompletedProcess[str]:
    words = ["bash", str(FOLDER / "fabric.sh"), fabric, str(directory)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def library() -> Path:
    """One that any Linux has, and that can be loaded."""
    import _ctypes

    return Path(_ctypes.__file__)


@pytest.mark.parametrize("fabric", sorted(LIBRARIES))
def test_a_build_ends_where_a_library_of_the_fabric_is_missing(fabric: str, tmp_path: Path) -> None:
    first, second = LIBRARIES[fabric]
    bare = looked(fabric, tmp_path)
    assert (bare.returncode, first.split(".")[0][:10] in bare.stderr) == (1, True)
    shutil.copy(library(), tmp_path / first)
    half = looked(fabric, tmp_path)
    assert half.returncode == 1
    assert second.split(".")[0] in half.stderr
    shutil.copy(library(), tmp_path / second)
    assert looked(fabric, tmp_path).returncode == 0


def test_a_library_that_lacks_another_is_as_good_as_none(tmp_path: Path) -> None:
    """Said by the loader: here one that is built against a library that is taken away again."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build a library with")
    (tmp_path / "gone.c").write_text("int gone(void) { return 1; }\n")
    (tmp_path / "net.c").write_text("int gone(void); int net(void) { return gone(); }\n")
    shared = [compiler, "-shared", "-fPIC"]
    subprocess.run([*shared, "-o", str(tmp_path / "libgone.so"), str(tmp_path / "gone.c")], check=True)
    made = [*shared, "-o", str(tmp_path / "libnccl-net-ofi.so"), str(tmp_path / "net.c"), f"-L{tmp_path}", "-lgone"]
    subprocess.run(made, check=True)
    (tmp_path / "libgone.so").unlink()
    done = looked("efa", tmp_path)
    assert done.returncode == 1
    assert "libgone.so => not found" in done.stderr


def test_an_unknown_fabric_is_refused_and_none_needs_nothing(tmp_path: Path) -> None:
    assert looked("none", tmp_path).returncode == 0
    assert looked("token-ring", tmp_path).returncode == 2


def test_the_image_has_the_trainer_where_pods_look_for_it() -> None:
    """The same files as the ConfigMap of runs."""
    (copy,) = (each for each in instructions((FOLDER / "Dockerfile").read_text()) if each.name == "COPY")
    *sources, target = (word for word in copy.words.split() if not word.startswith("--"))
    assert target.rstrip("/") == TRAINER
    found = {path.name for source in sources for path in ROOT.glob(source)}
    assert found == set(trainer_files())


def test_each_package_is_pinned_with_its_hashes() -> None:
    text = (FOLDER / "requirements.txt").read_text().replace("\\\n", " ")
    rows = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert rows
    assert [row for row in rows if not re.match(r"[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", row)] == []


SHIM = f"""#!/bin/bash
if [ "$(basename "$0") $1" = "python -c" ]; then exec {sys.executable} "$@"; fi
"""
SHIM += """
printf '%s\\n' "$(basename "$0") $*" >> "$CALLS"
if [ "$(basename "$0") $1" = "docker inspect" ]; then
  echo "other/copy@sha256:1"; echo "$IMAGE@sha256:2"
elif [ "$(basename "$0") $1" = "docker login" ]; then
  read -r password; [ "$password" = secret ]
elif [ "$(basename "$0")" = aws ]; then echo secret
elif [ "$(basename "$0") $1" = "git rev-parse" ]; then echo c0ffee
elif [ "$(basename "$0") $1" = "git diff" ]; then exit "${DIFFERS:-0}"; fi
"""


def run(target: str, place: Path, **values: str) -> subprocess.CompletedProcess[str]:
    """Make's target in a directory of its own; tools are recorded in its file `calls`."""
    for command in ("docker", "aws", "trivy", "cosign", "git", "python"):
        (place / command).write_text(SHIM)
        (place / command).chmod(0o755)
    calls = place / "calls"
    calls.write_text("")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    env = {**kept, "CALLS": str(calls), "PATH": f"{place}:{os.environ['PATH']}", **values}
    words = ["make", "-f", str(ROOT / "Makefile"), "--old-file=setup", f"VENV={place}", target]
    return subprocess.run(words, cwd=place, env=env, capture_output=True, text=True, timeout=60, check=False)


def made(target: str, place: Path, **values: str) -> list[str]:
    """The commands that a target runs, but for git's."""
    done = run(target, place, **values)
    assert done.returncode == 0, done.stderr
    return [each for each in (place / "calls").read_text().splitlines() if not each.startswith("git ")]


def test_it_is_pushed_to_the_region_of_its_registry_and_signed_by_digest(tmp_path: Path) -> None:
    """The password goes from one command to the other, and stands in no word of either. A key tells no public log."""
    pushed = made("image-push", tmp_path, IMAGE=REPOSITORY)
    host = REPOSITORY.partition("/")[0]
    assert sorted(pushed[:2]) == [
        "aws ecr get-login-password --region us-east-2",
        f"docker login --username AWS --password-stdin {host}",
    ]
    assert pushed[2].startswith(f"docker push --quiet {REPOSITORY}:")
    assert (tmp_path / "build" / "trainer.image").read_text() == f"{REPOSITORY}@sha256:2\n"
    sbom = f"--type cyclonedx --predicate build/trainer.cdx.json {REPOSITORY}@sha256:2"
    assert made("image-sign", tmp_path, IMAGE=REPOSITORY) == [
        f"cosign sign --yes {REPOSITORY}@sha256:2",
        f"cosign attest --yes {sbom}",
    ]
    key = "--use-signing-config=false --tlog-upload=false --key awskms:///alias/images"
    assert made("image-sign", tmp_path, IMAGE=REPOSITORY, SIGN_WITH="awskms:///alias/images") == [
        f"cosign sign --yes {key} {REPOSITORY}@sha256:2",
        f"cosign attest --yes {key} {sbom}",
    ]


def test_a_scan_that_finds_something_grave_ends_the_pipeline(tmp_path: Path) -> None:
    (scan,) = made("image-scan", tmp_path, IMAGE=REPOSITORY)
    assert "--severity HIGH,CRITICAL" in scan
    assert "--exit-code 1" in scan


def test_the_pipeline_is_compiled_of_the_pushed_image_at_its_commit_ab01(tmp_path: Path) -> None:
    """Words that ARGS has come last, so that an image in them counts."""
    words = "python -m tests.partners.compile --into=build/pretraining.yaml --commit=c0ffee"
    assert made("pipeline", tmp_path, ARGS="--shards=8") == [f"{words} --shards=8"]
    (tmp_path / "build" / "trainer.image").write_text("trainer@sha256:2\n")
    assert made("pipeline", tmp_path, ARGS="--shards=8") == [f"{words} --image=trainer@sha256:2 --shards=8"]


def test_a_tree_that_differs_from_its_commit_has_no_pipeline(tmp_path: Path) -> None:
    done = run("pipeline", tmp_path, DIFFERS="1")
    assert done.returncode == 2
    assert "error: node differs from the commit: commit first" in done.stderr


def test_without_a_repository_it_is_said_what_to_type() -> None:
    kept = {key: value for key, value in os.environ.items() if key != "IMAGE" and not key.startswith("MAKE")}
    words = ["make", "image-scan"]
    done = subprocess.run(words, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "make image IMAGE=" in done.stderr
