"""What `ibqueryerrors` prints of links that went down.

Source: infiniband-diags (rdma-core), ibqueryerrors.c: a line for each port whose counters are not zero, by the GUID of
a switch or of a card's port, and a summary at the end.
"""

import re
from collections.abc import Mapping

from doctor.fabric.discovered import At, Discovery
from doctor.fabric.refused import RefusedError

_PORT = re.compile(r"^ +GUID 0x([0-9a-f]+) port (\d+|ALL):(.*)$")
_DOWNED = re.compile(r"\[LinkDownedCounter == (\d+)(?: \([^)]*\))?\]")
_END = "## Summary:"


def times_down(text: str, found: Discovery) -> Mapping[At, int]:
    """How often each port's link went down since its counters were cleared. Raises RefusedError."""
    if _END not in text:
        raise RefusedError("the report of ibqueryerrors is truncated: it has no summary")
    down: dict[At, int] = {}
    for line in text.splitlines():
        port = _PORT.match(line)
        counted = _DOWNED.search(port[3]) if port else None
        # ALL is the sum of a switch's ports.
        if port is None or counted is None or port[2] == "ALL":
            continue
        guid = int(port[1], 16)
        end = found.port_guids.get(guid) or At(guid, int(port[2]))
        down[end] = int(counted[1])
    return down
