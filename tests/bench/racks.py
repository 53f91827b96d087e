"""One run of the program without an engine for so many GPU machines: CPU seconds, and what the state keeps of each.

    python -m tests.bench.racks MACHINES

It is the shipped on-premises stack with other counts. The monitor answers at once, so what is measured is
the program's share of a preview: no machine is asked in one. Prints one JSON object, with a checksum of what each
machine is sent: an `up` connects to those for which it is not that of the last one.
"""

import json
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import yaml

from tests.graph.stackfiles import run_program

ROOT = Path(__file__).resolve().parents[2]
SENT = "-prepared"
"""How the names of those resources end that are connections to a machine."""
CONTROLLERS = "10.20.8.0/21"
"""Addresses of controllers: switches, strips and machines of 256 racks are more than the shipped range has."""
_ENTRY = 64
"""Machines of one entry, whose addresses differ in the last number."""


def config(count: int) -> dict[str, Any]:
    """The stack file's sections with so many GPU machines, and a hall that holds them."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "Pulumi.metal.yaml").read_text())["config"]
    hosts = found["gpucluster:inventory"]["hosts"]
    kind = {key: hosts[1][key] for key in ("pool", "managementNic", "rails", "osDisk", "disks")}
    entries = [_entry(kind, first, min(_ENTRY, count - first)) for first in range(0, count, _ENTRY)]
    found["gpucluster:inventory"]["hosts"] = [hosts[0], *entries, *hosts[2:]]
    found["gpucluster:pools"][1] |= {"count": count, "maxCount": count}
    facility = found["gpucluster:facility"]
    facility["racks"]["count"] = count
    facility["cooling"]["capacityKw"] = 30 * count
    facility.pop("ups", None)
    found["gpucluster:platform"] |= {"podCidr": "10.64.0.0/14", "bmcCidr": CONTROLLERS}
    for each in found["gpucluster:inventory"]["hosts"]:
        if "bmc" in each:
            each["bmc"] = each["bmc"].replace("10.20.4.", "10.20.8.")
    found["gpucluster:fabric"].pop("railCidr", None)
    found.pop("gpucluster:budget", None)
    return found


def _entry(kind: dict[str, Any], first: int, count: int) -> dict[str, Any]:
    numbers = range(first, first + count)
    serials = [f"SN{number:06}" for number in numbers]
    block = first // _ENTRY
    return {
        **kind,
        "name": f"dgx-[{first + 1:03}-{first + count:03}]",
        "address": f"10.20.{1 + block // 3}.[{10 + block % 3 * _ENTRY}-{9 + block % 3 * _ENTRY + count}]",
        "hostKeys": [f"ssh-ed25519 {'A' * 60}{number:08}" for number in numbers],
        "serials": serials,
        "allowFormat": serials,
    }


def main(count: int) -> None:
    """Run the program and print what it took."""
    graph = run_program(config(count), stack="metal")
    took = time.process_time()
    own = [each for each in graph.resources.values() if "dgx-" in each.name]
    texts = {each.name: json.dumps(each.inputs, sort_keys=True, default=str) for each in own}
    found = {"cpu_seconds": took, "resources": len(graph.resources)}
    found["kib"] = sum(map(len, texts.values())) / count / 1024
    sent = {name: zlib.crc32(text.encode()) for name, text in texts.items() if name.endswith(SENT)}
    print(json.dumps({**found, **sent}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
