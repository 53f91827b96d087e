"""`preview --base`: what a pull request changes, without an account."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .rehearsed import command
from .trees import ROOT, Tree

pytestmark = pytest.mark.engine

NAME = "tiny"


def commit(root: Path) -> None:
    """Make the tree a repository whose only commit is what lies there."""
    git(root, "init", "--quiet")
    (root / ".git/info/exclude").write_text("/.venv\n")
    git(root, "add", "--all")
    git(root, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "base")


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tree: Tree) -> Tree:
    """A committed program with the smallest stack there is: no GPU, nothing that trains or serves."""
    content = yaml.safe_load(tree.text("Pulumi.dev.yaml"))
    config = content["config"]
    config["gpucluster:pools"] = [{"name": "system", "role": "system", "instanceType": "m7i.xlarge", "count": 1}]
    del config["gpucluster:training"], config["gpucluster:serving"], config["gpucluster:monitoring"]
    (tree.root / f"Pulumi.{NAME}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    commit(tree.root)
    return tree


def test_the_base_is_applied_and_the_trees_change_shown(repository: Tree, tmp_path: Path) -> None:
    repository.stack(NAME).set("gpucluster:pools[0].count", 2).set("gpucluster:storage.lustre.capacityGib", 2400)
    words = ["--stack", NAME, "--root", str(repository.root), "--base", "HEAD"]
    done = command(tmp_path / "state", "preview", *words)
    said = done.stdout
    assert done.returncode == 0, said
    assert "applying HEAD\n" in said
    _, _, diff = said.rpartition("Previewing update")
    assert sorted(re.findall(r"^ +([-+~]\S*) (\S+): \((?!same)", diff, re.MULTILINE)) == [
        ("~", "aws:eks/nodeGroup:NodeGroup"),
        ("~", "aws:fsx/lustreFileSystem:LustreFileSystem"),
        *[("~", "kubernetes:core/v1:PersistentVolume")] * 3,
    ]
    assert "desiredSize: 1 => 2" in " ".join(diff.split())
    assert "storageCapacity: 1200 => 2400" in " ".join(diff.split())
    assert re.fullmatch(r"same \d+, update 5", said.splitlines()[-1])
    assert not list((tmp_path / "state").glob("gpucluster/*/*")), "something of the site is left"
    assert git(repository.root, "status", "--porcelain") == f" M Pulumi.{NAME}.yaml\n"


@pytest.mark.scale
def test_the_policies_verdicts_stand_in_the_comment(repository: Tree, tmp_path: Path) -> None:
    """The pack runs in its own environment, over what the tree registers; a policy that is broken stops the update."""
    pack = repository.root / "policy" / "pack"
    subprocess.run([sys.executable, "-m", "venv", pack / ".venv"], check=True)
    words = ["pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", "requirements.txt"]
    subprocess.run([pack / ".venv/bin/python", "-m", *words], cwd=pack, check=True)
    repository.edit("components/aws/nodes.py", 'http_tokens="required"', 'http_tokens="optional"')
    done = subprocess.run(
        [sys.executable, "-m", "review", "--base", "HEAD", "--stack", NAME, "--root", str(repository.root)],
        cwd=ROOT,
        env=os.environ | {"GPUCLUSTER_HOME": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    decision = next(line for line in done.stdout.splitlines() if line.startswith(f"- **{NAME}**"))
    assert "**1 policy broken**" in decision
    assert "- **stops** `instances-hardened`: " in done.stdout
