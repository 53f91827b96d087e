"""What a plan costs: importing the planner, planning prod, planning 4,096 nodes with every cable.

    python -m tests.bench.planning import|prod|large|page

Each is measured in a process of its own, in CPU seconds: what the machine does besides does not count. Prints one JSON
object.
"""

import json
import sys
import time
from datetime import date
from pathlib import Path

TODAY = date(2026, 11, 21)
NODES = 4096


def importing() -> dict[str, float]:
    """CPU seconds of importing the settings, and then the planner with its rules and tables."""
    began = time.process_time()
    import settings.model  # noqa: F401

    between = time.process_time()
    import planner.plan  # noqa: F401

    return {"settings": between - began, "seconds": time.process_time() - between}


def production() -> dict[str, float]:
    """CPU seconds of planning prod once the planner is imported: the first time, and the smallest of ten."""
    from planner.plan import plan
    from tests.planner.stacks import settings

    prod = settings("prod")
    took = []
    for _ in range(10):
        began = time.process_time()
        plan(prod, today=TODAY)
        took.append(time.process_time() - began)
    return {"first": took[0], "seconds": min(took)}


def large() -> dict[str, float]:
    """CPU seconds and peak memory of planning 4,096 nodes of eight rails, and of a list of their cables."""
    from planner.fabric.cabling import links
    from planner.fabric.design import names
    from planner.plan import plan
    from settings.model import MetalSettings
    from tests.planner.stacks import changed

    wanted = changed("metal", {"pools.1.count": NODES, "pools.1.maxCount": NODES, "training.runs.0.nodes": NODES})
    assert isinstance(wanted, MetalSettings)
    began = time.process_time()
    planned = plan(wanted, today=TODAY)
    assert planned.fabric is not None
    design = planned.fabric.growth.day_one
    cables = list(links(design, names(design)))
    took = time.process_time() - began
    assert len(cables) == design.cables
    return {"seconds": took, "mib": _peak_mib(), "cables": len(cables)}


def drawn() -> dict[str, float]:
    """CPU seconds of planning 4,096 nodes in racks and drawing their page."""
    from planner.faces.page.whole import page
    from tests.planner.site import planned_site

    began = time.process_time()
    planned = planned_site({"pools.1.count": NODES, "training.runs.0.nodes": NODES, "facility.racks.count": 4000})
    page("large", planned)
    return {"seconds": time.process_time() - began}


def _peak_mib() -> float:
    """Peak resident set since the program's start; what getrusage says begins with the parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    print(json.dumps({"import": importing, "prod": production, "large": large, "page": drawn}[sys.argv[1]]()))
