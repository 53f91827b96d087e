"""Wall time of preparing rehearsed machines, one and many, over their real SSH servers.

    python -m tests.bench.hosts

What the engine does for each is done here: one connection and one bundle, as many at once as the engine runs steps.
Tools take the time that their documentation says,
as on a machine of a site. Prints one JSON object.
"""

import json
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rehearsal.engine.run import PARALLEL
from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.lacking import missing
from tests.rehearsed.hosts.bundles import CONCERNS, bundle
from tests.rehearsed.hosts.racks import DECLARED, gpu_node, prepare

MANY, AT_ONCE = 32, PARALLEL
"""Machines, and how many steps the engine has at once."""


def seconds(hall: Hall, hosts: Sequence[Host], text: str) -> float:
    """Of one bundle on each."""
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as several:
        for done in several.map(lambda host: prepare(hall, host, text), hosts):
            if done.status != 0:
                raise SystemExit(f"a machine was not prepared: {done.lines}")
    return time.monotonic() - began


def main() -> None:
    """Rack the machines, prepare one, then all others; then all a second time, when nothing changes."""
    if lacking := missing():
        raise SystemExit(lacking)
    with tempfile.TemporaryDirectory(prefix="gpucluster-bench-") as scratch:
        hall = Hall(Path(scratch))
        hall.start()
        try:
            racked = [
                gpu_node(f"bench-{number}", f"10.20.0.{11 + number}", host_key=f"{DECLARED}{number:02}", pace=1.0)
                for number in range(MANY + 1)
            ]
            hall.rack(racked)
            first, *others = [hall.hosts[each.name] for each in racked]
            text = bundle(CONCERNS)
            one, many, again = (seconds(hall, hosts, text) for hosts in ((first,), others, others))
        finally:
            hall.stop()
    print(json.dumps({"one": one, "many": many, "again": again}))


if __name__ == "__main__":
    main()
