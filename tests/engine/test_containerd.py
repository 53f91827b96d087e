"""What machines give to containerd as its configuration, read by the real one: what it takes, and what it ignores.

Like kubeadm it is built for these tests alone: a minute or two of two cores, once.
"""

import os
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.aws.user_data import sandbox_config
from rehearsal.toolchain import ensure
from tests.graph.stackfiles import ROOT
from tests.stacks.test_metal import told

pytestmark = pytest.mark.engine


def written(host: str) -> str:
    """What `containerd.sh` writes on a machine of the shipped stack."""
    script = (ROOT / "node" / "host" / "containerd.sh").read_text() + "\ncontainerd_configuration\n"
    names = ("PAUSE_IMAGE", "DOWNLOADS")
    env = {**os.environ, **{f"GPUCLUSTER_{name}": told(host)[name] for name in names}}
    return subprocess.run(["bash", "-s"], input=script, env=env, capture_output=True, text=True, check=True).stdout


def dumped(place: Path, text: str) -> subprocess.CompletedProcess[str]:
    """What containerd makes of a file and its own defaults; keys that it does not know are warnings."""
    file = place / "config.toml"
    file.write_text(text)
    words: list[str | Path] = [ensure(["containerd"])["containerd"], "--config", file, "config", "dump"]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def lost(wanted: Mapping[str, Any], found: Mapping[str, Any], path: str = "") -> list[str]:
    """The keys whose values did not arrive."""
    paths = []
    for key, value in wanted.items():
        there, name = found.get(key), f"{path}/{key}"
        if isinstance(value, Mapping):
            paths += lost(value, there if isinstance(there, Mapping) else {}, name)
        elif value != there:
            paths.append(name)
    return paths


def taken(place: Path, text: str) -> list[str]:
    """The keys of a file whose values containerd has not; it says that it migrates version 3, and nothing else."""
    done = dumped(place, text)
    assert done.returncode == 0, done.stderr
    assert "unknown key" not in done.stderr
    keys = {key: value for key, value in tomllib.loads(text).items() if key not in ("version", "imports")}
    return lost(keys, tomllib.loads(done.stdout))


@pytest.mark.parametrize("host", ["cp-1", "dgx-01"])
def test_containerd_takes_every_key_of_a_machines_file(host: str, tmp_path: Path) -> None:
    text = written(host)
    assert "SystemdCgroup" in text
    assert taken(tmp_path, text) == []


def test_containerd_takes_the_runtime_of_sandboxes_beside_nodeadms_own(tmp_path: Path) -> None:
    spec: Any = sandbox_config()["spec"]
    assert taken(tmp_path, f"version = 3\n{spec['containerd']['config']}") == []


def test_a_misspelt_key_is_told(tmp_path: Path) -> None:
    wrong = dumped(tmp_path, written("dgx-01").replace("max_concurrent_downloads", "max_concurrent_download"))
    assert "Ignoring unknown key in TOML" in wrong.stderr


def test_a_version_that_containerd_has_not_is_refused(tmp_path: Path) -> None:
    refused = dumped(tmp_path, written("dgx-01").replace("version = 3", "version = 9"))
    assert refused.returncode == 1
    assert "expected containerd config version equal to or less than" in refused.stderr
