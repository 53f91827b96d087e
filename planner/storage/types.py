"""The shared file system of a stack in numbers: what it delivers, how it survives losses, what runs ask of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.echo import echo
from catalogue.types import Nvme
from planner.storage.limits import Limits
from planner.storage.need import RunIo


@dataclass(frozen=True, kw_only=True)
class Redundancy:
    """`data` parts are stored with `parity` more, any of which may be lost. Three replicas are 1+2, RAID-6 is n+2."""

    data: int
    parity: int

    def __post_init__(self) -> None:
        if self.data < 1 or self.parity < 0:
            raise ValueError(f"{self.data}+{self.parity} stores no data")

    @property
    def width(self) -> int:
        """Drives, or hosts, that one object is spread over."""
        return self.data + self.parity

    @property
    def amplification(self) -> float:
        """Bytes that reach drives per byte written."""
        return self.width / self.data

    def __str__(self) -> str:
        return f"{self.width} replicas" if self.data == 1 else f"{self.data}+{self.parity}"


def parse(text: str) -> Redundancy:
    """A scheme written as "8+2". Raises ValueError if it is not one."""
    match = re.fullmatch(r"([1-9]\d?)\+(\d)", text)
    if not match:
        raise ValueError(f"{echo(text)} is not DATA+PARITY such as 8+2")
    return Redundancy(data=int(match[1]), parity=int(match[2]))


def replicated(copies: int) -> Redundancy:
    """So many full copies."""
    return Redundancy(data=1, parity=copies - 1)


def copies_or_parity(copies: int | None, parity: str | None) -> Redundancy:
    """What of the two is said. One copy where neither is."""
    return parse(parity) if parity is not None else replicated(copies or 1)


def usable(raw: float, redundancy: Redundancy) -> float:
    """What is left of `raw` capacity, in its unit."""
    return raw / redundancy.amplification


FILE_SYSTEMS: Mapping[str, str] = {"fsx": "FSx for Lustre", "lustre": "Lustre", "ceph": "Ceph"}
"""What people call each kind of shared file system."""


@dataclass(frozen=True, kw_only=True)
class RunStorage:
    """A run's use of storage, and what its nodes have: GB/s to the file system each, and their own disks.

    `restore_s` is how long reading a checkpoint takes, each node its part; `staging_s` how long the dataset takes to
    the nodes' disks; `object_copy_s` how long one copier takes to bring a checkpoint to the object store. None where
    there is nothing to move, or no way to.
    """

    io: RunIo
    node_gb_per_s: float
    nvme: Nvme | None
    restore_s: float | None
    staging_s: float | None
    object_copy_s: float | None = None

    @property
    def nodes_gb_per_s(self) -> float:
        """GB/s between all the run's nodes and the file system, as far as the nodes go."""
        return self.io.nodes * self.node_gb_per_s


@dataclass(frozen=True, kw_only=True)
class StoragePlan:
    """The shared file system. Rates are GB/s one way for all clients together, capacities decimal TB.

    `object_gb_per_s` is what one copier moves to the object store, None without one. `read` and `write` say what each
    part allows where the servers are on premises. `needed_tb` is what the runs keep
    there, or what the settings say if that is more. `lnet` is the network type of an on-premises Lustre.
    """

    kind: Literal["fsx", "lustre", "ceph"]
    read_gb_per_s: float
    write_gb_per_s: float
    raw_tb: float
    usable_tb: float
    needed_tb: float
    clients: int
    target_read_gb_per_s: float | None
    target_write_gb_per_s: float
    runs: Mapping[str, RunStorage]
    object_gb_per_s: float | None = None
    read: Limits | None = None
    write: Limits | None = None
    lnet: str | None = None
    osts: int | None = None
