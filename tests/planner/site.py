"""An on-premises site that nothing is wrong with, and changes of it: eight DGX H100 with Lustre over InfiniBand."""

from collections.abc import Mapping
from copy import deepcopy
from datetime import date
from typing import Any

from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from planner.findings import Finding
from planner.metal_types import MetalPlan
from planner.plan import plan
from settings.load import from_sections
from settings.model import MetalSettings

TODAY = date(2026, 11, 21)

SITE: dict[str, Any] = {
    "platform": {
        "kind": "metal",
        "site": "hall-2",
        "kubernetesVersion": "1.36",
        "managementCidr": "10.20.0.0/22",
        "bmcCidr": "10.20.4.0/22",
    },
    "pools": [
        {"name": "system", "role": "system", "server": "Dell PowerEdge R660", "count": 3},
        {"name": "training", "role": "training", "server": "DGX H100", "count": 8},
    ],
    "fabric": {
        "kind": "infiniband",
        "switch": "QM9700",
        "topology": "rail-optimised",
        "subnetManager": "opensm",
        "railCidr": "10.21.0.0/20",
    },
    "storage": {
        "lustre": {
            "server": "OSS 24x15.36TB NDR",
            "count": 4,
            "mdsServer": "MDS 8x3.84TB NDR",
            "mdsCount": 2,
        },
        "targetGbPerS": 300,
    },
    "facility": {
        "racks": {"count": 4, "units": 48, "powerKw": 60},
        "circuit": {"volts": 415, "phases": 3, "amperes": 60},
        "circuitsPerRack": 3,
        "pue": 1.3,
        "cooling": {"kind": "air", "capacityKw": 140},
        "usdPerKwh": 0.12,
    },
    "scheduling": {"queues": [{"name": "training"}]},
    "training": {
        "runs": [
            {
                "name": "pretrain",
                "pool": "training",
                "nodes": 8,
                "queue": "training",
                "image": "nvcr.io/nvidia/pytorch:26.03-py3",
                "script": ["train.py"],
                "model": "llama-3-8b",
                "checkpoint": {"everyMinutes": 30, "withinSeconds": 60},
            }
        ]
    },
    "lifecycle": {"owner": "ml-platform", "costCentre": "research"},
}


def dataset(gb: float, staging: str = "none") -> dict[str, Any]:
    """Changes that give the first run a dataset, which the site's file system holds already."""
    return {
        "training.datasets": [{"name": "text", "gb": gb}],
        "training.runs.0.dataset": {"name": "text", "staging": staging},
    }


def site(changes: Mapping[str, Any] | None = None) -> MetalSettings:
    """The site with values replaced: {"pools.1.count": 4}; None removes a key."""
    data = deepcopy(SITE)
    for path, value in (changes or {}).items():
        *above, last = path.split(".")
        here: Any = data
        for step in above:
            here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
        if value is None:
            del here[last]
        else:
            here[int(last) if isinstance(here, list) else last] = value
    settings = from_sections(data)
    assert isinstance(settings, MetalSettings)
    return settings


def planned_site(changes: Mapping[str, Any] | None = None, *, catalogue: Catalogue = SHIPPED) -> MetalPlan:
    """The plan of the site with values replaced."""
    return plan(site(changes), catalogue=catalogue, today=TODAY)


def found(rule: str, changes: Mapping[str, Any] | None = None, *, catalogue: Catalogue = SHIPPED) -> list[Finding]:
    """What one rule finds on the site with values replaced."""
    return [seen for seen in planned_site(changes, catalogue=catalogue).findings if seen.rule == rule]
