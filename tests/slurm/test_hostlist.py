"""Names of machines as Slurm writes them; scontrol reads them back where it is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from slurm.hostlist import hostlist

CASES = [
    (["training-0", "training-1", "training-2"], "training-[0-2]"),
    (["dgx-01", "dgx-02", "dgx-04"], "dgx-[01-02,04]"),
    (["gpu-9", "gpu-10"], "gpu-[9-10]"),
    (["gpu-08", "gpu-09", "gpu-10"], "gpu-[08-10]"),
    (["head", "a-1", "b-1", "b-2"], "head,a-1,b-[1-2]"),
    (["n-001"], "n-001"),
]


@pytest.mark.parametrize(("names", "written"), CASES)
def test_names_that_differ_by_a_number_are_one_expression(names: list[str], written: str) -> None:
    assert hostlist(names) == written


@pytest.mark.parametrize(("names", "written"), CASES)
def test_slurm_reads_the_same_names(names: list[str], written: str, tmp_path: Path) -> None:
    if shutil.which("scontrol") is None:
        pytest.skip("Slurm is not installed: apt-get install slurm-wlm")
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=any\nSlurmctldHost=localhost\nNodeName=localhost\n", encoding="utf-8")
    words = ["env", f"SLURM_CONF={conf}", "scontrol", "show", "hostnames", written]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == names
