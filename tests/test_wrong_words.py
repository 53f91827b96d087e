"""Commands, keys, fields and products that do not exist, or not as they are often written: the tree has none of them.

Whoever adds a script, a template or a page finds out here that a word in it leads nowhere.
"""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ELSEWHERE = {"tests", "policy", "build"}
"""Tests and rules name what is wrong, to refuse it."""

TEXT = {".py", ".sh", ".md", ".yaml", ".yml", ".json", ".j2", ".conf", ".toml", ".go", ""}
TABLE = ROOT / "docs" / "reference" / "corrections.csv"
"""The table that says what is right may name what is wrong."""

REFUSING = (ROOT / "policy" / "collectives.py", ROOT / "planner" / "rules" / "launch.py")
"""The rules that refuse variables name them."""


@cache
def texts() -> dict[str, str]:
    """Every text of the program and its documents by its path."""
    places = [path for path in ROOT.iterdir() if not path.name.startswith(".") and path.name not in ELSEWHERE]
    return {
        str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
        for place in places
        for file in (place.rglob("*") if place.is_dir() else [place])
        if file.is_file() and file.suffix in TEXT and "__pycache__" not in file.parts and file not in (TABLE, *REFUSING)
    }


@pytest.mark.parametrize(
    ("correction", "wrong", "specimen"),
    [
        ("KJ05", r"\brdzvConfigs\b", "rdzvConfigs: [timeout]"),
        ("KJ18", r"lustre\.csi\.io", "driver: lustre.csi.io"),
        ("KJ21", r"NVIDIA-H100-SXM\b", "nvidia.com/gpu.product: NVIDIA-H100-SXM"),
        ("KJ31", r"kubectl run\b.*--limits", "kubectl run smi --limits=nvidia.com/gpu=1"),
        ("NC07", r"\bNCCL_BUFFSIZE\b", "NCCL_BUFFSIZE=16777216"),
        ("NC09", r"\bNCCL_TOPO\b", "export NCCL_TOPO=/etc/topo.xml"),
        ("NC12", r"(?i)\bNCCL_?.{0,20}compress", "NCCL with compression"),
        ("FB15", r"\bBCM\b", "through the BCM's port"),
        ("FB17", r"\bibtracert [a-z]", "ibtracert gpu-1 gpu-2"),
        ("FB18", r"\bib_recv_bw\b", "ib_recv_bw -d mlx5_0"),
        ("HW15", r"\bT234\b", "the T234 agent"),
        ("HW16", r"-lgc[ =]2505|2505 ?MHz", "nvidia-smi -lgc 2505"),
        ("ST09", r"\bread_ahead_stats ?=", "lctl set_param llite.*.read_ahead_stats=1"),
        ("PW15", r"\bColab\b", "a free GPU of Colab"),
        ("PW17", r"\bCentOS\b", "on CentOS 7"),
        ("PW19", r"cloud\.google\.com/gke-", 'cloud.google.com/gke-preemptible: "true"'),
        ("SL01", r"\bMaxConcurrentJobs\b", "MaxConcurrentJobs=2"),
        ("SL02", r"\bPriorityDecayType\b", "PriorityDecayType=linear"),
        ("SL03", r"\bPriorityUsageResetPeriodType\b", "PriorityUsageResetPeriodType=WEEKLY"),
        ("SL06", r"\bControl(?:Machine|Addr)\b", "ControlMachine=head"),
        ("SL12", r"\bdxl-cooled\b", "Feature=dxl-cooled"),
        ("SL15", r"\bState=UP\b", "scontrol update NodeName=gpu-1 State=UP"),
        ("DC01", r":5555\b|/api/v2/health/status", "curl http://localhost:5555/api/v2/health/status"),
        ("DC02", r"\bdcgmi (?:-h|--host)\b", "dcgmi --host gpu-1 dmon -c 3"),
        ("DC03", r"\bdatacenter-gpu-manager(?!-4-cuda|\*)", "apt-get install datacenter-gpu-manager"),
        ("DC11", r"\bgpu_utilization\b", "metric: gpu_utilization"),
        ("PF01", r"\bupload_version\(", "model.upload_version(path)"),
        ("PF05", r"(?i)\biap\.|\bidentity-aware proxy", "x-goog-iap: iap.googleapis.com"),
        ("PF06", r"\bAuthPolicy\b", "an AuthPolicy of Istio"),
        ("PF11", r"\bmlx5tool\b|mt4099", "mlx5tool -d /dev/mst/mt4099_pci_cr0"),
        ("PF12", r"(?m)\bnvidia/cuda(?:[\s\"'`]|$|:latest)", "docker run --gpus all nvidia/cuda nvidia-smi"),
        ("PF13", r"--hooks-dir\b", "podman run --hooks-dir=/etc/hooks.d"),
        ("PF14", r"(?m)\bdcgmi stats -g \d+\s*$", "dcgmi stats -g 0"),
        ("PF15", r"\brun_harness BENCHMARK=", "make run_harness BENCHMARK=bert"),
        ("PF16", r"(?i)\bhorovod", "horovodrun -np 64"),
        ("PF17", r"\bnumactl (?:-l|--localalloc) -m", "numactl -l -m 0 python train.py"),
        ("PF18", r"\b(?:rmmod|modprobe) (?:-r )?mlx5\b", "rmmod mlx5"),
        ("PF19", r"\blldpconfig\b", "lldpconfig -X"),
        ("PF20", r"(?i)\bEtcDStore\b", "an EtcDStore"),
    ],
)
def test_it_stands_nowhere(correction: str, wrong: str, specimen: str) -> None:
    """No text has the wrong word; the pattern finds it where it stands."""
    pattern = re.compile(wrong)
    assert pattern.search(specimen), f"{correction}: {wrong} would not find {specimen!r}"
    found = [f"{file}: {match[0]!r}" for file, text in texts().items() for match in pattern.finditer(text)]
    assert not found, f"{correction} says what to write instead (docs/reference/corrections.csv)"


def test_every_text_is_looked_at() -> None:
    """Scripts, pages, stack files and programs."""
    assert len(texts()) > 200
    assert {"README.md", "Pulumi.prod.yaml", "planner/draft.py", "docs/reference/planner.md"} <= set(texts())
