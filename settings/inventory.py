"""The machines of a site, singly or as ranges: addresses, SSH host keys, positions in racks.

A range says `dgx-[01-08]` once. Its other values count along: `10.20.0.[21-28]` has an address for each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.ranges import MOST_HOSTS, Addresses, HostNames, RackNames, members
from settings.sections import Path, Section, SectionError, repeated
from settings.site import AnotherHost, Controllers, Loki, SharedMount, SiteStore
from settings.switches import Switches, SwitchMember
from settings.types import Matching, Name

Address = Annotated[str, Matching(r"(\d{1,3}\.){3}\d{1,3}", "an IPv4 address such as 10.20.0.10")]
HostKey = Annotated[
    str,
    Matching(
        r"(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]{40,1000}={0,2}",
        "a public key of a host, type and key, such as ssh-ed25519 AAAAC3Nza... (ssh-keyscan -t ed25519 ADDRESS; "
        "compare it with the console)",
    ),
]
Serial = Annotated[
    str, Matching(r"[A-Za-z0-9][-A-Za-z0-9./]{2,63}", "a serial number (dmidecode -s system-serial-number)")
]
Mac = Annotated[str, Matching(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", "an Ethernet address such as 94:6d:ae:00:00:01")]
Nic = Annotated[str, Matching(r"[a-z][-a-z0-9_.]{0,14}", "the name of a network interface such as eno1")]
PciAddress = Annotated[
    str, Matching(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", "a PCI address such as 0000:18:00.0 (lspci -D)")
]
Disk = Annotated[
    str,
    Matching(
        r"/dev/disk/by-(id|path)/[A-Za-z0-9][-A-Za-z0-9_.:+]{1,127}",
        "a disk by a name that lasts, such as /dev/disk/by-path/pci-0000:02:00.0-nvme-1",
    ),
]
Fingerprint = Annotated[
    str,
    Matching(
        r"([0-9A-F]{2}:){31}[0-9A-F]{2}",
        "the SHA-256 of a certificate such as 0A:1B:... (openssl x509 -noout -fingerprint -sha256)",
    ),
]
Login = Annotated[str, Matching(r"[a-z_][-a-z0-9_]{0,31}", "the name of a user")]


@dataclass(frozen=True)
class Member:
    """One machine of a range, with its own values. `place` is where the stack file has the range."""

    name: str
    place: int
    address: str
    host_key: str
    serial: str | None
    bmc: str | None
    bmc_fingerprint: str | None
    mac: str | None
    rack: str | None
    unit: int | None
    storage_addresses: tuple[str, ...]
    first_target: int | None
    partner: str | None


class Hosts(Section):
    """Equal machines: those of a node pool, or the servers of the file system.

    `units` are the lowest units that the machines of a rack take, from its first to its last machine. Nothing is
    formatted but `disks` of machines whose serial stands in `allow_format`. The machines of a range have equal disks:
    partners, which reach the same ones, are ranges of one.
    """

    name: Annotated[HostNames, Field(description="names, such as dgx-[01-08]")]
    pool: Annotated[Name | None, Field(description="node pool of the machines; either this or storage")] = None
    storage: Annotated[
        Literal["oss", "mds", "osd", "nfs"] | None,
        Field(description="what they serve: Lustre (oss, mds), Ceph (osd) or homes (nfs)"),
    ] = None
    address: Annotated[Addresses, Field(description="address on the management network, such as 10.20.0.[21-28]")]
    host_keys: Annotated[tuple[HostKey, ...], Field(max_length=MOST_HOSTS, description="SSH host key of each machine")]
    serials: Annotated[tuple[Serial, ...], Field(max_length=MOST_HOSTS, description="serial number of each")] = ()
    bmc: Annotated[Addresses | None, Field(description="address of the management controller of each")] = None
    bmc_fingerprints: Annotated[
        tuple[Fingerprint, ...],
        Field(max_length=MOST_HOSTS, description="SHA-256 of each management controller's certificate"),
    ] = ()
    macs: Annotated[tuple[Mac, ...], Field(max_length=MOST_HOSTS, description="Ethernet address of each")] = ()
    racks: Annotated[RackNames | None, Field(description="racks, each with as many machines as units has")] = None
    units: Annotated[tuple[Annotated[int, Field(ge=1, le=60)], ...], Field(max_length=60)] = ()
    storage_addresses: Annotated[
        tuple[Addresses, ...],
        Field(max_length=8, description="addresses on the storage network for Lustre, a pattern for each port"),
    ] = ()
    targets: Annotated[
        tuple[Annotated[int, Field(ge=0, le=65_000)], ...],
        Field(max_length=MOST_HOSTS, description="number of each machine's first Lustre target, which never changes"),
    ] = ()
    partner: Annotated[
        HostNames | None, Field(description="machine on the same disk enclosure that can take over its targets")
    ] = None
    management_nic: Annotated[
        Nic | None, Field(description="interface of that address; None = of the default route")
    ] = None
    rails: Annotated[
        tuple[PciAddress, ...],
        Field(max_length=64, description="compute ports in rail order; () = found by their type"),
    ] = ()
    os_disk: Annotated[
        Disk | None, Field(description="disk of the operating system, which is never used otherwise")
    ] = None
    disks: Annotated[tuple[Disk, ...], Field(max_length=128, description="disks for scratch or storage")] = ()
    allow_format: Annotated[
        tuple[Serial, ...], Field(max_length=MOST_HOSTS, description="serials of machines whose disks may be formatted")
    ] = ()

    @model_validator(mode="after")
    def _one_of_everything(self) -> Self:
        count, problems = len(members(self.name)), list[tuple[Path, str]]()
        if (self.pool is None) is (self.storage is None):
            problems.append((("pool",), "a machine belongs to a pool or serves storage; write either pool or storage"))
        listed = {
            "hostKeys": self.host_keys,
            "serials": self.serials,
            "macs": self.macs,
            "bmcFingerprints": self.bmc_fingerprints,
            "targets": self.targets,
        }
        for key, written in listed.items():
            if len(written) != count and (written or key == "hostKeys"):
                each = "an SSH server with an unknown host key could be any machine; " if key == "hostKeys" else ""
                problems.append(
                    ((key,), f"has {len(written)} for {count} machines ({self.name}); {each}give one for each")
                )
        if self.bmc_fingerprints and self.bmc is None:
            problems.append((("bmcFingerprints",), "needs the controllers' addresses; add bmc"))
        patterns = [("address", self.address), ("bmc", self.bmc), ("partner", self.partner)]
        for key, pattern in (*patterns, *(("storageAddresses", each) for each in self.storage_addresses)):
            if pattern is not None and len(members(pattern)) != count:
                sentence = (
                    f"counts {len(members(pattern))} for {count} machines ({self.name}); give both the same range"
                )
                problems.append(((key,), sentence))
        places = (len(members(self.racks)) if self.racks else 0) * len(self.units)
        if (self.racks is not None or self.units) and places != count:
            sentence = (
                f"racks and units make {places} places for {count} machines ({self.name}); give the same number of each"
            )
            problems.append((("units",), sentence))
        if problems:
            raise SectionError(problems)
        return self

    def members(self, place: int) -> Iterator[Member]:
        """The machines one by one, in the order of their names."""
        bmcs = members(self.bmc) if self.bmc else ()
        partners = members(self.partner) if self.partner else ()
        storage = [members(each) for each in self.storage_addresses]
        racks = [(rack, unit) for rack in (members(self.racks) if self.racks else ()) for unit in self.units]
        for index, (name, address) in enumerate(zip(members(self.name), members(self.address), strict=True)):
            rack, unit = racks[index] if racks else (None, None)
            yield Member(
                name=name,
                place=place,
                address=address,
                host_key=self.host_keys[index],
                serial=self.serials[index] if self.serials else None,
                bmc=bmcs[index] if bmcs else None,
                bmc_fingerprint=self.bmc_fingerprints[index] if self.bmc_fingerprints else None,
                mac=self.macs[index] if self.macs else None,
                rack=rack,
                unit=unit,
                storage_addresses=tuple(each[index] for each in storage),
                first_target=self.targets[index] if self.targets else None,
                partner=partners[index] if partners else None,
            )


class Inventory(Section):
    """The machines in their racks, and how to reach them. Without it the stack can only be planned.

    `endpoint` is an address of the management network that no machine has: the control plane's nodes hand it on.
    """

    user: Annotated[Login, Field(description="SSH user with passwordless sudo")] = "ubuntu"
    port: Annotated[int, Field(ge=1, le=65_535, description="of the machines' SSH servers")] = 22
    endpoint: Annotated[Address, Field(description="address of the Kubernetes API, not used by any machine")]
    driver: Annotated[
        Literal["host", "container"],
        Field(
            description="where GPU and NIC drivers come from: the machine's image (host), or the operators' containers"
        ),
    ] = "host"
    gds: Annotated[
        bool,
        Field(
            description="GPUDirect Storage: the GPU Operator loads nvidia-fs, by which files are read into GPU memory; "
            "for driver: container"
        ),
    ] = False
    time_servers: Annotated[
        tuple[AnotherHost, ...],
        Field(min_length=1, max_length=8, description="NTP servers that the machines reach"),
    ] = ("ntp.ubuntu.com",)
    allow_reset: Annotated[
        tuple[Serial, ...],
        Field(
            max_length=MOST_HOSTS, description="serials of machines that may be drained and reset when they are removed"
        ),
    ] = ()
    drained: Annotated[
        tuple[Serial, ...],
        Field(
            max_length=MOST_HOSTS,
            description="serials of machines whose nodes are drained now: their kubelets may take another CPU policy",
        ),
    ] = ()
    hosts: Annotated[tuple[Hosts, ...], Field(min_length=1, max_length=512)]
    controllers: Annotated[
        Controllers | None, Field(description="access to the management controllers; None = they are not used")
    ] = None
    switches: Annotated[
        tuple[Switches, ...],
        Field(max_length=512, description="switches of the compute fabric, with their racks"),
    ] = ()
    shared_files: Annotated[
        SharedMount | None,
        Field(description="an existing shared file system; None = the one of storage, on machines of this list"),
    ] = None
    object_store: Annotated[SiteStore | None, Field(description="object store for checkpoints and weights")] = None
    logs: Annotated[Loki | None, Field(description="destination of logs that monitoring.logs collects")] = None

    @model_validator(mode="after")
    def _asks_each_clock_once(self) -> Self:
        if twice := list(repeated(self.time_servers, "{} is there twice; name each server once", "timeServers")):
            raise SectionError(twice)
        return self

    @model_validator(mode="after")
    def _loads_modules_by_one_hand(self) -> Self:
        if self.gds and self.driver == "host":
            said = "is the operator's, and with driver host the machine's image has the drivers"
            raise SectionError([(("gds",), f"{said}; install nvidia-gds there and remove it, or take container")])
        return self

    def members(self) -> Iterator[tuple[Hosts, Member]]:
        """Every machine with the range that it is of, in the order of the file."""
        for place, each in enumerate(self.hosts):
            for member in each.members(place):
                yield each, member

    def switch_members(self) -> Iterator[SwitchMember]:
        """Every switch, in the order of the file."""
        for place, each in enumerate(self.switches):
            yield from each.members(place)
