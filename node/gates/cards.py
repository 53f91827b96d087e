"""What the fabric's cards say of themselves: libfabric's devices of EFA, and the kernel's counters of InfiniBand."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from results import UnreadableError
from verdicts import Verdict

LIBFABRIC, COUNTERS = "libfabric", "fabric counters"
FI_INFO = ("fi_info", "/opt/amazon/efa/bin/fi_info")
"""On the path, or where the EFA installer puts it (EC2 user guide, Get started with EFA)."""

ERRORS = (
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "port_rcv_errors",
    "symbol_error",
)
"""Files of ports/*/counters that count faults (Linux, Documentation/ABI/stable/sysfs-class-infiniband)."""

_FIELDS = ("fabric", "domain", "version", "type", "protocol")

Counts = Mapping[tuple[str, str], int]


def libfabric(devices: int, run: Callable[..., str]) -> Verdict | None:
    """Whether libfabric finds all of the node's EFA devices; None where the image has no fi_info to ask.

    It needs no GPU and no other node: where NCCL is on sockets, this says whether plugin or devices are to blame.
    """
    program = next((each for each in FI_INFO if shutil.which(each)), None)
    if program is None:
        return None
    said = run(program, "-p", "efa", "-t", "FI_EP_RDM")
    try:
        found = domains(said)
    except UnreadableError as error:
        return Verdict(LIBFABRIC, "fail", str(error))
    if len(found) != devices:
        return Verdict(LIBFABRIC, "fail", f"fi_info finds {len(found)} devices of provider efa, not {devices}")
    return Verdict(LIBFABRIC, "pass", f"fi_info finds {devices} devices of provider efa")


def domains(text: str) -> set[str]:
    """Devices of provider efa by fi_info's blocks (libfabric, util/info.c), each once, though it has several fabrics.

    Raises UnreadableError where there is none, or the last block is cut.
    """
    blocks: list[dict[str, str]] = []
    for line in text.splitlines():
        name, colon, value = line.strip().partition(": ")
        if colon and name == "provider":
            blocks.append({name: value.strip()})
        elif colon and blocks and name in _FIELDS:
            blocks[-1][name] = value.strip()
    if not blocks:
        last = text.strip().splitlines()[-1:] or ["nothing"]
        raise UnreadableError(f"fi_info finds no device of provider efa; its output: {last[0][:160]!r}")
    if any(field not in blocks[-1] for field in _FIELDS):
        raise UnreadableError("fi_info ended early: its last block is incomplete")
    return {each["domain"].removesuffix("-rdm") for each in blocks if each["provider"] == "efa" and "domain" in each}


def counts(root: Path) -> dict[tuple[str, str], int]:
    """Faults of each InfiniBand port below /sys/class/infiniband, by port and counter; nothing where none is told.

    Raises UnreadableError where a counter holds no number.
    """
    found = {}
    for place in sorted(root.glob("*/ports/*/counters")):
        layer = place.parent / "link_layer"
        if layer.exists() and layer.read_text(encoding="utf-8").strip() != "InfiniBand":
            continue
        port = f"{place.parents[2].name} port {place.parent.name}"
        for name in ERRORS:
            file = place / name
            if file.exists():
                try:
                    found[port, name] = int(file.read_text(encoding="utf-8"))
                except (OSError, ValueError) as error:
                    raise UnreadableError(f"{name} of {port} is not a number: {error}") from error
    return found


def grown(before: Counts, after: Counts) -> Verdict | None:
    """Faults that came while the nodes worked together: a link that went down fails, others warn; None without counts.

    What was counted before says nothing of now: links are trained when a machine starts.
    """
    if not after:
        return None
    more = {key: value - before[key] for key, value in after.items() if key in before and value > before[key]}
    back = sorted({port for port, name in after if after[port, name] < before.get((port, name), 0)})
    gone = sorted({port for port, _ in before.keys() - after.keys()})
    if more or gone:
        said = [f"{name} of {port} grew by {by}" for (port, name), by in sorted(more.items())]
        said += [f"{port} is gone" for port in gone]
        down = gone or any(name == "link_downed" for _, name in more)
        return Verdict(COUNTERS, "fail" if down else "warn", ", ".join(said))
    if back:
        return Verdict(COUNTERS, "warn", f"counters of {', '.join(back)} were reset meanwhile")
    ports = len({port for port, _ in after})
    return Verdict(COUNTERS, "pass", f"no new faults at {ports} ports")
