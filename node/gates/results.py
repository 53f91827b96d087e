"""What the tools of a gate print, read into numbers; what is cut, empty or of another tool is an error, never a pass.

Sources: nccl-tests, src/common.cu (table and "# Avg bus bandwidth"); NCCL 2.30, src/plugin/net.cc and
aws-ofi-nccl, src/nccl_ofi_net.cpp (which network is used); nvidia-smi --query-gpu (CSV).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

WARM_UP_STEPS = 5
"""Of training, in which memory is found and programs of the GPU are chosen. Assumed."""


class UnreadableError(ValueError):
    """The output is not that of a tool that ran to its end."""


@dataclass(frozen=True)
class Row:
    """A message of so many bytes: bus bandwidth out of place, GB/s, and results that were wrong."""

    size: int
    bus_gb_per_s: float
    wrong: int


_ROW = re.compile(
    r"\s*(\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+([\d.]+)\s+[\d.]+\s+([\d.]+)\s+(\d+|N/A)(?:\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+(\d+|N/A))?\s*"
)
_AVERAGE = re.compile(r"# Avg bus bandwidth\s*:\s*([\d.]+)")


def steps(text: str) -> list[float]:
    """Tokens per second of each step of the reference trainer (node/trainer/train.py). Raises UnreadableError unless it
    ended well.
    """
    if not re.search(r"^done after \d+ steps$", text, re.MULTILINE):
        raise UnreadableError(f"the trainer failed: {_last(text)}")
    found = re.findall(r"^step \d+ loss \S+ (\d+) tokens/s$", text, re.MULTILINE)
    if len(found) <= WARM_UP_STEPS:
        raise UnreadableError(f"the trainer printed only {len(found)} steps: {_last(text)}")
    return [float(each) for each in found]


def nccl_rows(text: str) -> list[Row]:
    """The table of one run of nccl-tests. Raises UnreadableError without its last line, which is written at the end."""
    rows = []
    for line in text.splitlines():
        found = _ROW.fullmatch(line)
        if found:
            wrong = [int(each) for each in (found[4], found[5]) if each and each != "N/A"]
            rows.append(Row(int(found[1]), float(found[3]), sum(wrong)))
    if not rows:
        raise UnreadableError(f"the output has no row of nccl-tests: {_last(text)}")
    if not _AVERAGE.search(text):
        raise UnreadableError(f"the output of nccl-tests ends early: {_last(text)}")
    return rows


@dataclass(frozen=True)
class Network:
    """What a rank's NCCL uses: `provider` is efa, IB or Socket; `devices` found, None where it did not say."""

    rank: int
    provider: str
    devices: int | None


_RANK = re.compile(r"\[(\d+)\] NCCL INFO (.*)")
_OFI = re.compile(r"NET/OFI Selected [Pp]rovider is ([\w;.-]+).*?\(found (\d+) nics\)")
_USING = re.compile(r"Using network (.+)")
_IB = re.compile(r"NET/IB : Using (.*)")
_DEVICE = re.compile(r"\[\d+\][\w.-]+:\d+")


def networks(text: str) -> dict[int, Network]:
    """Network of each rank by NCCL_DEBUG=INFO's lines. Raises UnreadableError where no rank names one."""
    providers: dict[int, str] = {}
    devices: dict[int, int] = {}
    for line in text.splitlines():
        said = _RANK.search(line)
        if said is None:
            continue
        rank, words = int(said[1]), said[2]
        if ofi := _OFI.search(words):
            providers[rank], devices[rank] = ofi[1], int(ofi[2])
        elif ib := _IB.search(words):
            devices[rank] = len(_DEVICE.findall(ib[1]))
        elif used := _USING.search(words):
            name = used[1].strip()
            if "ofi" not in name.lower() and "libfabric" not in name.lower():
                providers[rank] = name
            else:
                providers.setdefault(rank, name)
    if not providers:
        raise UnreadableError(f"no rank says which network it uses (NCCL_DEBUG=INFO): {_last(text)}")
    return {rank: Network(rank, provider, devices.get(rank)) for rank, provider in providers.items()}


@dataclass(frozen=True)
class Clock:
    """A GPU under load: clock of its processors and the most it can have, MHz, power and its limit, W."""

    gpu: int
    mhz: float
    most_mhz: float
    watts: float
    limit_watts: float


def clocks(text: str) -> list[Clock]:
    """Of nvidia-smi: --query-gpu=index,clocks.sm,clocks.max.sm,power.draw,power.limit --format=csv,noheader,nounits."""
    found = []
    for line in text.strip().splitlines():
        words = [each.strip() for each in line.split(",")]
        try:
            index, *numbers = words
            mhz, most, watts, limit = map(float, numbers)
            found.append(Clock(int(index), mhz, most, watts, limit))
        except ValueError:
            raise UnreadableError(f"not five columns of nvidia-smi: {line.strip()!r}") from None
    if not found:
        raise UnreadableError("nvidia-smi lists no GPU")
    return found


_COPIED = re.compile(r"(\d+) bytes?.* copied, ([\d.e+-]+) s, ")


def copied(text: str) -> Copy:
    """Of GNU dd (coreutils, src/dd.c, print_xfer_stats): its last line, which it writes at its end only."""
    for line in reversed(text.strip().splitlines()):
        found = _COPIED.match(line.strip())
        if found:
            return Copy(int(found[1]), float(found[2]))
    raise UnreadableError(f"dd ended early: {_last(text)}")


@dataclass(frozen=True)
class Copy:
    """Bytes and seconds of a copy."""

    size: int
    seconds: float

    @property
    def gb_per_s(self) -> float:
        """Decimal GB a second."""
        return self.size / self.seconds / 1e9 if self.seconds else 0.0


_SECTION = re.compile(r"^    Fabric\s*$")
_FIELD = re.compile(r"^        (State|Status)\s*:\s*(.+?)\s*$")


def fabric_states(text: str) -> list[tuple[str, str]]:
    """State and status of each GPU's section Fabric (nvidia-smi -q), N/A where it is behind no NVSwitch.

    Drivers that know no such section, before R525, tell nothing.
    """
    if "NVSMI LOG" not in text:
        raise UnreadableError(f"nvidia-smi gave no report: {_last(text)}")
    found: list[tuple[str, str]] = []
    inside = False
    said: dict[str, str] = {}
    for line in text.splitlines():
        if _SECTION.match(line):
            inside, said = True, {}
        elif inside and (field := _FIELD.match(line)):
            said[field[1]] = field[2]
            if len(said) == 2:
                found.append((said["State"], said["Status"]))
                inside = False
        elif inside and not line.startswith("        "):
            inside = False
    return found


_GPU = re.compile(r"GPU (\d+): ")
_LINK = re.compile(r"\s+Link \d+: [\d.]+ GB/s\s*")


def nvlinks(text: str) -> dict[int, int]:
    """Links that are up, by GPU (nvidia-smi nvlink --status): those with a rate. A GPU all of whose links are down has
    one sentence in the place of their lines, so links that are called inactive are not all that are down.
    """
    found: dict[int, int] = {}
    for line in text.splitlines():
        if gpu := _GPU.match(line):
            found[int(gpu[1])] = 0
        elif found and _LINK.fullmatch(line):
            found[max(found)] += 1
    if not found:
        raise UnreadableError(f"nvidia-smi lists no GPU with links: {_last(text)}")
    return found


@dataclass(frozen=True)
class Port:
    """A port of a fabric card as the kernel tells it; `gbps` is what it runs at."""

    name: str
    state: str
    gbps: float


def ports(root: Path, cards: Sequence[str] = ()) -> list[Port]:
    """The ports below /sys/class/infiniband, by card and number: those of `cards`, which may be RoCE's, or where none
    are named those of InfiniBand.

    `state` holds such as "4: ACTIVE", `rate` "400 Gb/sec (4X NDR)", `link_layer` InfiniBand or Ethernet (Linux,
    Documentation/ABI/stable/sysfs-class-infiniband). Raises UnreadableError where there is none, or one cannot be read.
    """
    found = []
    for place in sorted(root.glob("*/ports/*")):
        card = place.parents[1].name
        name = f"{card} port {place.name}"
        try:
            told = {each: (place / each).read_text(encoding="utf-8").strip() for each in ("state", "rate")}
            if card in cards if cards else _infiniband(place / "link_layer"):
                found.append(Port(name, told["state"].partition(": ")[2], float(told["rate"].split()[0])))
        except (OSError, ValueError, IndexError) as error:
            raise UnreadableError(f"{name} cannot be read: {error}") from error
    if not found:
        whose = f"port of {', '.join(cards)}" if cards else "InfiniBand port"
        raise UnreadableError(f"no {whose} is in {root}: the cards' driver is not loaded, or not visible here")
    return found


def _infiniband(layer: Path) -> bool:
    return not layer.exists() or layer.read_text(encoding="utf-8").strip() == "InfiniBand"


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return repr(lines[-1][:160]) if lines else "it is empty"
