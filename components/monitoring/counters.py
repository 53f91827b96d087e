"""A container that writes further counters to a file, because the node exporter does not read them itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.platform.confinement import confined_values

TEXTFILES = "/run/prometheus"
VOLUME = "textfiles"


@dataclass(frozen=True, kw_only=True)
class NodeCounters:
    """Counters of a platform's nodes. `script` prints them once in Prometheus' text format, in a shell of `image`.

    It sees the host's /sys, and needs no rights.
    """

    name: str
    image: str
    script: str


def sidecar(counters: NodeCounters, every_s: int, requests: Mapping[str, str]) -> dict[str, Any]:
    """The container. A file is complete or not there: the exporter may look at any moment."""
    file = f"{TEXTFILES}/{counters.name}.prom"
    loop = f"while :; do {{ {counters.script}; }} > {file}.new && mv {file}.new {file}; sleep {every_s}; done"
    return {
        "name": counters.name,
        "image": counters.image,
        "command": ["sh", "-c", loop],
        "resources": {"requests": dict(requests), "limits": {"memory": requests["memory"]}},
        "securityContext": confined_values(writes=False),
    }


VOLUME_VALUES = [{"name": VOLUME, "mountPath": TEXTFILES, "readOnly": False}]
"""Value `sidecarVolumeMount` of the node exporter's chart: both containers see it, and the exporter may only read."""
