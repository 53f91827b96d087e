"""docs/comparison.md: whoever says yes there names one test, and the test exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "comparison.md"
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| Feature"))
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_what_is_claimed_has_a_test_that_exists(row: list[str]) -> None:
    claim, named = row[1], row[-1].strip("`")
    assert claim in ("yes", "part", "no")
    if claim == "no":
        assert not named
        return
    assert "::" in named, "a file of many tests proves no row; name the one that fails if the feature breaks"
    for file, _, test in (each.partition("::") for each in (named, *re.findall(r"`(tests/[^`]+)`", row[2]))):
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert test in tests if test else any(name.startswith("test_") for name in tests)


PRACTITIONERS_ASK_FOR = """
    Language; Own VPC and subnets; Nodes by; p5, p5e, p5en; p6-b200, p6-b300, p6e-gb200; EFA interfaces;
    EFA security group, itself in and out; Placement group; Off for a capacity block; Capacity block, ODCR; Spot;
    GPU Operator; EFA plugin; NVMe RAID0; FSx for Lustre; FSx over EFA: the node's client; Gang scheduling; Volcano;
    Kubeflow training; Katib; NCCL test after deploy; vLLM; vLLM autoscaling; DCGM and Prometheus; EFA metrics;
    Alert rules; Node auto-repair; Access entries, pod identity; Ordered destroy; Tests offline
"""


def test_each_feature_stands_there_once_with_our_column() -> None:
    """The thirty by which projects on AWS are compared, and what is beyond."""
    there = [row[0] for row in ROWS]
    assert len(there) == len(set(there))
    assert {" ".join(each.split()) for each in PRACTITIONERS_ASK_FOR.split(";")} - set(there) == set()


@pytest.mark.parametrize("row", [row for row in ROWS if row[1] == "part"], ids=lambda row: str(row[0])[:40])
def test_what_is_there_in_part_says_what_is_missing(row: list[str]) -> None:
    assert len(row[2].split()) > 3
