"""The commands of docs/how-to/look-at-a-node.md that are more than a word and its flags."""

import os
import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "look-at-a-node.md"
SHIM = '#!/bin/bash\nprintf "%s\\n" "$(basename "$0") $*" >> "$CALLS"\n'


@pytest.mark.parametrize(
    "home", ["usr/lib64", "usr/lib/x86_64-linux-gnu", "run/nvidia/driver/usr/lib/x86_64-linux-gnu"]
)
def test_nvtop_reads_the_nodes_own_library(home: str, tmp_path: Path) -> None:
    """U13: wherever the driver is, its library and no other of the node's is what nvtop loads."""
    (command,) = re.findall(r"```sh\n(kubectl debug node/NODE .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    there, own = tmp_path / "host" / home, tmp_path / "own"
    there.mkdir(parents=True)
    own.mkdir()
    (there / "libnvidia-ml.so.1").write_text("NVML")
    (there / "libc.so.6").write_text("not this one")
    shims = tmp_path / "bin"
    shims.mkdir()
    for name, text in {
        "kubectl": '#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n',
        "apt-get": SHIM,
        "nvtop": SHIM,
    }.items():
        (shims / name).write_text(text)
        (shims / name).chmod(0o755)
    moved = command.replace("/host/", f"{tmp_path}/host/").replace(" /usr/lib/x86_64-linux-gnu/", f" {own}/")
    calls = tmp_path / "calls"
    environment = {**os.environ, "PATH": f"{shims}:{os.environ['PATH']}", "CALLS": str(calls)}
    done = subprocess.run(["bash", "-c", moved], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert calls.read_text().splitlines()[-1] == "nvtop "
    assert [each.name for each in own.iterdir()] == ["libnvidia-ml.so.1"]
    assert (own / "libnvidia-ml.so.1").read_text() == "NVML"
