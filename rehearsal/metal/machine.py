"""What a rehearsed server is: facts that its tools answer from. They come from makers' data, not from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Drive:
    """A drive; `holds` is what lies on it (`xfs`, `ext4`), `mounted` where, empty if nowhere; `path` is its name in
    /dev/disk/by-path, or in a directory beside it that it begins with. Machines that name one `enclosure` reach the
    same drives in it, by their serials."""

    name: str
    gb: int
    serial: str
    holds: str = ""
    mounted: str = ""
    path: str = ""
    enclosure: str = ""


@dataclass(frozen=True)
class Gpu:
    """All GPUs of a server: `driver` empty where none is installed. Watts and MHz are the board's limits."""

    product: str
    count: int
    driver: str
    least_watts: int
    most_watts: int
    most_mhz: int
    nvswitch: bool = True


@dataclass(frozen=True)
class Card:
    """A network device by its PCI address, with the name the kernel gave it; one that is up keeps it. `vendor` and
    `device` are PCI ids; `infiniband` says what its ports speak, and `vfs` how many virtual functions its firmware
    allows; `rdma` says whether a card of Ethernet speaks RoCE. `gbit_per_s` is its link's rate, 0 without one. One
    with an `address` is an interface of the host as well, which no cable leads to.
    """

    pci: str
    name: str
    up: bool = False
    vendor: str = ""
    device: str = ""
    infiniband: bool = False
    gbit_per_s: int = 400
    address: str = ""
    vfs: int = 0
    rdma: bool = False


@dataclass(frozen=True)
class Machine:
    """One server as it is racked, with its operating system installed.

    `host_key` is the public key that the inventory names (None: the machine has one that nobody wrote down). `user` may
    log in, and do all by sudo without a password. `model` is the maker's name of it in the firmware. `bridges`
    are PCI bridges with access control on. `clock_off` is how many seconds the clock is off. `file_systems` are those
    that somebody outside of the hall serves to it, as mount names them. `registries` are those that ask who pulls:
    HOST=USER:PASSWORD in base64, or HOST alone where any login will do. `pace` is how much of the time that its tools
    take by their documentation they take here: none, or 1 for all of it.
    """

    name: str
    address: str
    serial: str
    model: str = ""
    host_key: str | None = None
    user: str = "root"
    system: str = "ubuntu"
    release: str = "24.04"
    kernel: str = "6.8.0-100-generic"
    command_line: str = "root=/dev/sda2 ro"
    cores: int = 112
    memory_gib: int = 2048
    virtual: bool = False
    swap: bool = True
    gpu: Gpu | None = None
    drives: tuple[Drive, ...] = ()
    cards: tuple[Card, ...] = ()
    bridges: tuple[str, ...] = ()
    file_systems: tuple[str, ...] = ()
    registries: tuple[str, ...] = ()
    clock_off: float = 0.0
    packages: dict[str, str] = field(default_factory=dict)
    disk_mib: int = 64
    pace: float = 0.0

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Machine:
        """The machine of such facts."""
        parts: dict[str, Any] = {
            "gpu": Gpu(**facts["gpu"]) if facts.get("gpu") else None,
            "drives": tuple(Drive(**each) for each in facts.get("drives", ())),
            "cards": tuple(Card(**each) for each in facts.get("cards", ())),
            "bridges": tuple(facts.get("bridges", ())),
            "file_systems": tuple(facts.get("file_systems", ())),
            "registries": tuple(facts.get("registries", ())),
        }
        return cls(**{**facts, **parts})

    def facts(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return asdict(self)
