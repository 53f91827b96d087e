"""The stack file of each shipped preset: what a person has to add to it, and what is changed for a rehearsal."""

from collections.abc import Mapping
from typing import Any

import yaml

from planner.faces.assignments import assigned, assignments
from planner.metal_types import MetalPlan
from planner.plan import plan
from settings.load import from_sections
from settings.presets import merged, preset, preset_names
from tests.graph.stackfiles import ROOT, SHIPPED
from tests.planner.stacks import sections as shipped_sections
from tests.planner.stacks import sections_in
from tests.stacks.test_metal_presets import LIFECYCLE, inventory

NAMES = (*SHIPPED, *preset_names())
IMAGE = "registry.example.com/ml/trainer"
BESIDE = "the run on 24 of the 32 machines, four trials one after the other on the 8 beside it"
CHANGED = dict.fromkeys(("h200-32n", "h200-32n-cloud"), BESIDE)
"""What is rehearsed otherwise than it is shipped: there the run takes every machine, and trials wait until it ends."""
LARGE = ROOT / "tests/settings/corpus/good/two-thousand-gpus.yaml"
"""256 nodes of p5.48xlarge without gates, checkpoints and monitoring."""
NODES_OF_PROD = "pools[1].count=256 training.runs[0].nodes=256"
LARGE_PROD = f"{NODES_OF_PROD} budget.maxHourlyUsd=20000 budget.maxGpus=2056"
"""prod with as many, and the budget without which the planner refuses them. Its subnets, file system, gates and
monitoring hold them as they are shipped.
"""
_BAYS = [f"/dev/disk/by-path/pci-0000:{number:02x}:00.0-nvme-1" for number in range(0x81, 0x81 + 24)]
_SYSTEM = "/dev/disk/by-path/pci-0000:64:00.0-nvme-1"
_RAILS = [f"0000:{bus}:00.0" for bus in ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")]


def text(name: str, changes: str = "") -> str:
    """The stack file of that stack, or one that builds on that preset; with changes as SET has them."""
    if name in SHIPPED and not changes:
        return (ROOT / f"Pulumi.{name}.yaml").read_text(encoding="utf-8")
    shipped = shipped_sections(name) if name in SHIPPED else merged(_own(name), _changed(name))
    sections = assigned(shipped, assignments([changes]))
    config = {"pulumi:disable-default-providers": ["*"]} | {f"gpucluster:{key}": each for key, each in sections.items()}
    return yaml.safe_dump({"config": config}, sort_keys=False)


def _own(name: str) -> dict[str, Any]:
    """What everybody adds: an owner, what the image is, and the machines or the network of whoever deploys."""
    shipped = preset(name)
    scripts = [each["script"] for each in (shipped.get("training") or {}).get("runs", ())]
    holds = sorted({word for script in scripts for word in script if word.startswith("/")})
    image = {"name": IMAGE, "like": "nvcr.io/nvidia/pytorch:26.03..26.03", "holds": holds, "source": "its Dockerfile"}
    own: dict[str, Any] = {"preset": name, "example": True, "lifecycle": dict(LIFECYCLE)}
    own["catalogue"] = {"images": [image]} if holds else {}
    if shipped["platform"]["kind"] == "metal":
        return {**own, "inventory": _racked(name)}
    if name.startswith("lab-"):
        own |= {"keeper": {"maxUsd": 60000}, "lifecycle": {**LIFECYCLE, "expiry": "2027-12-31"}}
    return {**own, "platform": {"publicAccessCidrs": ["203.0.113.0/24"]}}


def _changed(name: str) -> dict[str, Any]:
    if name not in CHANGED:
        return {}
    training = preset(name)["training"]
    (run,), (experiment,) = training["runs"], training["experiments"]
    trials = {**experiment["trials"], "parallel": 1, "most": 4}
    return {"training": {"runs": [{**run, "nodes": 24}], "experiments": [{**experiment, "trials": trials}]}}


def _racked(name: str) -> dict[str, Any]:
    """The inventory, with the drives and cards that the servers of each pool have."""
    found = plan(from_sections({"preset": name, "example": True, "lifecycle": LIFECYCLE}))
    assert isinstance(found, MetalPlan)
    whole = inventory(name)
    for host in whole["hosts"]:
        pool = found.pools.get(str(host.get("pool")))
        if "disks" in host:
            host |= {"allowFormat": host["serials"], "osDisk": _SYSTEM}
        elif pool is not None and pool.gpus_per_node and pool.server.nvme is not None:
            host |= {"disks": _BAYS[: pool.server.nvme.count], "osDisk": _SYSTEM, "allowFormat": host["serials"]}
        if pool is not None and pool.server.rails:
            host["rails"] = _RAILS[: pool.server.rails]
    return whole


def sections(name: str) -> Mapping[str, Any]:
    """The same without the prefix of its keys."""
    return sections_in(yaml.safe_load(text(name))["config"])
