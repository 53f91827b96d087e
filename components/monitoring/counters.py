"""A container that writes further counters to a file, because the node exporter does not read them itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.platform.confinement import confined_values

TEXTFILES = "/run/prometheus"
HOST_FILES = "/run/host-counters"
VOLUME = "textfiles"


@dataclass(frozen=True, kw_only=True)
class NodeCounters:
    """Counters of a platform's nodes. `script` prints them once in Prometheus' text format, in a shell of `image`.

    It sees the host's /sys, and needs no rights. Files *.prom of the host's directory `host_files` are added as they
    are.
    """

    name: str
    image: str
    script: str
    host_files: str | None = None


def sidecar(counters: NodeCounters, every_s: int, requests: Mapping[str, str]) -> dict[str, Any]:
    """The container. A file is complete or not there: the exporter may look at any moment."""
    file = f"{TEXTFILES}/{counters.name}.prom"
    told = f"{counters.script}; cat {HOST_FILES}/*.prom 2>/dev/null || :" if counters.host_files else counters.script
    loop = f"while :; do {{ {told}; }} > {file}.new && mv {file}.new {file}; sleep {every_s}; done"
    return {
        "name": counters.name,
        "image": counters.image,
        "command": ["sh", "-c", loop],
        "resources": {"requests": dict(requests), "limits": {"memory": requests["memory"]}},
        "securityContext": confined_values(writes=False),
    }


VOLUME_VALUES = [{"name": VOLUME, "mountPath": TEXTFILES, "readOnly": False}]
"""Value `sidecarVolumeMount` of the node exporter's chart: both containers see it, and the exporter may only read."""


def host_files(counters: NodeCounters) -> list[dict[str, Any]]:
    """Value `sidecarHostVolumeMounts`: a directory that a host lacks is made where the pod starts."""
    mount = {"name": "host-counters", "hostPath": counters.host_files, "mountPath": HOST_FILES, "readOnly": True}
    return [mount] if counters.host_files else []
