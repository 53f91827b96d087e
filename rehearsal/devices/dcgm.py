"""dcgm-exporter's page: the counters of its list, one sample for each GPU or slice. Pure.

Source: NVIDIA/dcgm-exporter 4.5.3-4.8.2, internal/pkg: rendermetrics (labels and their order), counters (the list),
collector (blank values, err_code of Xids, windows), transformation/kubernetes.go (labels of the pod that holds a GPU).
"""

import csv
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rehearsal.devices import readings
from rehearsal.devices.readings import Reading
from rehearsal.kubelet.allotted import Holder
from rehearsal.kubelet.exposition import Family, Sample

FIELD_NAMES = Path(__file__).with_name("dcgm_fields.txt")
"""Every field that go-dcgm knows at the commit of dcgm-exporter 4.5.3-4.8.2 (pkg/dcgm/const_fields.go)."""

KINDS = ("gauge", "counter", "histogram", "summary", "label")
XIDS, CLOCK_EVENTS = "DCGM_EXP_XID_ERRORS_COUNT", "DCGM_EXP_CLOCK_EVENTS_COUNT"
EXPORTERS = (XIDS, CLOCK_EVENTS, "DCGM_EXP_GPU_HEALTH_STATUS", "DCGM_EXP_P2P_STATUS")
WINDOW_SECONDS, INTERVAL_SECONDS = 300, 30
XID_TEXTS = {
    0: "No Error",
    48: "Double Bit ECC Error",
    63: "ECC page retirement or row remapping recording event",
    74: "NVLINK Error",
    79: "GPU has fallen off the bus",
    119: "GSP RPC Timeout",
}
"""Of the errors that failures here report (collector/xid_errors.go)."""


class CountersError(ValueError):
    """The exporter does not start with this list of counters; its own words."""


@dataclass(frozen=True)
class Counter:
    """One line of the list."""

    field: str
    kind: str
    help: str


@dataclass(frozen=True)
class Device:
    """A GPU or a slice as the exporter names it; `instance` is profile and id of a slice."""

    index: int
    uuid: str
    bus: str
    model: str
    reading: Reading
    holder: Holder | None = None
    instance: tuple[str, int] | None = None
    idle_samples: int = 0


def counters(text: str) -> list[Counter]:
    """The list of a file (CSV with comments). Raises CountersError as the exporter ends."""
    rows = csv.reader(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    found = []
    for index, row in enumerate(rows):
        cells = [cell.strip(" ") for cell in row]
        if len(cells) != 3:
            raise CountersError(
                f"malformed CSV record; err: failed to parse line {index} (`[{' '.join(cells)}]`), expected 3 fields"
            )
        if cells[0] not in known() and cells[0] not in EXPORTERS:
            raise CountersError(f"could not find DCGM field; err: unknown ExporterCounter field '{cells[0]}'")
        if cells[0] in known() and cells[1] not in KINDS:
            raise CountersError(f"could not find Prometheus metric type '{cells[1]}'")
        found.append(Counter(*cells))
    return found


@functools.cache
def known() -> frozenset[str]:
    """The names of all fields of DCGM."""
    return frozenset(FIELD_NAMES.read_text().split())


def hostname_label(image: str) -> str:
    """The label of the node's name: exporters from 4.8.3 on write it small (release notes)."""
    found = re.search(r":[\d.]+-(\d+)\.(\d+)\.(\d+)", image)
    return "hostname" if found and tuple(map(int, found.groups())) >= (4, 8, 3) else "Hostname"


def model(product: str) -> str:
    """The model as the driver names it, from the product with dashes for blanks; older boards' names keep theirs."""
    return product.replace("-", " ", 1) if re.search("SXM[24]", product) else product.replace("-", " ")


def families(counters: Iterable[Counter], devices: Sequence[Device], host: tuple[str, str]) -> list[Family]:
    """The page. `host` is the label of the node's name, and the name."""
    listed = list(counters)
    labels = {each.field: readings.DRIVER for each in listed if each.field == "DCGM_FI_DRIVER_VERSION"}
    return [
        Family(
            each.field,
            "counter" if each.kind == "counter" else "gauge",
            each.help,
            _samples(each, devices, host, labels),
        )
        for each in listed
        if each.kind != "label"
    ]


def _samples(
    counter: Counter, devices: Iterable[Device], host: tuple[str, str], labels: Mapping[str, str]
) -> list[Sample]:
    found: list[Sample] = []
    for device in devices:
        if counter.field in (XIDS, CLOCK_EVENTS):
            window = {"window_size_in_ms": str(WINDOW_SECONDS * 1000)}
            found += [
                Sample(_labels(device, host, {**labels, **window, **own}, {}), value)
                for own, value in _counted(counter.field, device)
            ]
        elif (value := readings.value(counter.field, device.reading)) is not None:
            found.append(Sample(_labels(device, host, labels, _error(counter.field, value)), value))
    return found


def _counted(field: str, device: Device) -> list[tuple[dict[str, str], float]]:
    """Events of the window by kind; one sample of 0 where DCGM kept none."""
    if field == XIDS:
        recent = device.reading.state.recent_xids
        return [({"xid": str(xid)}, recent.count(xid)) for xid in sorted(set(recent))] or [({}, 0)]
    return [({"clock_event": "gpu_idle"}, device.idle_samples)] if device.idle_samples else []


def _error(field: str, value: float) -> dict[str, str]:
    if field != readings.XID:
        return {}
    return {"err_code": str(int(value)), "err_msg": XID_TEXTS[int(value)]}


def _labels(
    device: Device, host: tuple[str, str], labels: Mapping[str, str], attributes: Mapping[str, str]
) -> dict[str, str]:
    profile = {}
    if device.instance is not None:
        profile = {"GPU_I_PROFILE": device.instance[0], "GPU_I_ID": str(device.instance[1])}
    held = {}
    if device.holder is not None:
        held = {"pod": device.holder.pod, "namespace": device.holder.namespace, "container": device.holder.container}
    return {
        "gpu": str(device.index),
        "UUID": device.uuid,
        "pci_bus_id": device.bus,
        "device": f"nvidia{device.index}",
        "modelName": device.model,
        **profile,
        host[0]: host[1],
        **dict(sorted(labels.items())),
        **dict(sorted({**attributes, **held}.items())),
    }
