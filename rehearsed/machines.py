"""The racked hosts that a stack file names, as they stand there before the stack: an operating system, and what a site
puts on its machines by its own means (drivers, DOCA, the client of its file system).

Models are known by their makers' data, and by what `nvidia-smi` and lspci show of them: NVIDIA, DGX H100/H200 user
guide, "Hardware overview"; Dell, PowerEdge R660, R760, XE8640 and XE9680 technical guides; Supermicro, product pages of
AS-8125GS-TNHR, SYS-821GE-TNHR and SYS-421GE-TNHR2-LCC (the most memory is the buyer's choice: here the catalogue's);
pci.ids (15b3:1021 is a ConnectX-7).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rehearsal.metal.machine import Card, Drive, Gpu, Machine
from rehearsed.preset import parsed

PROJECT = "gpucluster"
LOGIN = f"{PROJECT}:sshKey"
STORE_KEY = (f"{PROJECT}:objectStoreKeyId", f"{PROJECT}:objectStoreKey")
SECRETS = ("sshKey", "clusterKey", "objectStoreKeyId", "objectStoreKey")
SHARED = "/mnt/shared"
"""Where the program has its nodes mount what they share."""
CEPHFS = "csi:rook-ceph.cephfs.csi.ceph.com:files:/volumes/shared"
"""What they share where Ceph is the file system: the directory of it that claims name."""
PARTS, PART_BYTES = 64, 1 << 30
"""A dataset lies there in so many files, each so large: enough for a node of every gang to have its own."""

FUNCTIONS_LINE = "root=/dev/sda2 ro iommu=pt ib_core.netns_mode=0"
"""The kernel's command line where ports have virtual functions, as docs/how-to/metal.md has it."""

_DRIVER = "580.126.20"
_H100 = Gpu("NVIDIA H100 80GB HBM3", 8, _DRIVER, 200, 700, 1980)
_H200 = Gpu("NVIDIA H200", 8, _DRIVER, 200, 700, 1980)
# Four of them are connected without switches (NVIDIA, HGX H100 4-GPU).
_H100_4 = Gpu("NVIDIA H100 80GB HBM3", 4, _DRIVER, 200, 700, 1980, nvswitch=False)
_RTX_3060 = Gpu("NVIDIA GeForce RTX 3060", 1, _DRIVER, 100, 170, 1777, nvswitch=False)
_INFINIBAND = re.compile(r"\b(EDR|HDR|NDR|XDR)\b")
"""In the name of a server: what its storage cards speak."""
_COUNTING = re.compile(r"\[(\d+)-(\d+)\]")


@dataclass(frozen=True)
class Server:
    """A model: its name in the firmware, hardware threads, memory, GPUs with their driver, and a scratch drive's GB."""

    model: str
    threads: int
    memory_gib: int
    gpu: Gpu | None = None
    drive_gb: int = 3840


SERVERS: Mapping[str, Server] = {
    "DGX H100": Server("DGXH100", 224, 2048, _H100),
    "DGX H200": Server("DGXH200", 224, 2048, _H200),
    "Dell PowerEdge R660": Server("PowerEdge R660", 128, 256, drive_gb=1920),
    "Dell PowerEdge R760": Server("PowerEdge R760", 224, 512),
    "Dell PowerEdge XE8640": Server("PowerEdge XE8640", 224, 1024, _H100_4),
    "Dell PowerEdge XE9680 HDR": Server("PowerEdge XE9680", 256, 1536, _H100),
    "Supermicro AS-8125GS-TNHR": Server("AS -8125GS-TNHR", 384, 2304, _H100),
    "Supermicro SYS-421GE-TNHR2-LCC": Server("SYS-421GE-TNHR2-LCC", 224, 2048, _H100),
    "Supermicro SYS-821GE-TNHR H200": Server("SYS-821GE-TNHR", 256, 1536, _H200),
    "Lab box": Server("To Be Filled By O.E.M.", 16, 32, drive_gb=1000),
    "Lab box RTX 3060": Server("To Be Filled By O.E.M.", 16, 64, _RTX_3060, drive_gb=1000),
}
UNKNOWN = Server("", 64, 256)
"""A server of a model that is not known here: small, and without GPUs."""


def machines(text: str) -> tuple[Machine, ...]:
    """Every host of the inventory; none in a stack file without one, or with one that is not whole."""
    config = (parsed(text) or {}).get("config") or {}
    inventory = config.get(f"{PROJECT}:inventory")
    if not isinstance(inventory, dict):
        return ()
    pools = {str(each.get("name")): each for each in mappings(config.get(f"{PROJECT}:pools"))}
    fabric = config.get(f"{PROJECT}:fabric") or {}
    vfs = int(fabric.get("vfsPerPort", 1)) if fabric.get("podDevices") == "sriov" else 0
    lustre = (config.get(f"{PROJECT}:storage") or {}).get("lustre") or {}
    rows = mappings((config.get(f"{PROJECT}:catalogue") or {}).get("servers"))
    site = Site(
        inventory,
        pools,
        infiniband=bool(_INFINIBAND.search(str(lustre.get("server")))),
        lustre=bool(lustre),
        vfs=vfs,
        fabric=str(fabric.get("kind")),
        alike={str(each.get("name")): str(each.get("like")) for each in rows},
    )
    asks = tuple(_asking(config))
    found = (machine for entry in mappings(inventory.get("hosts")) for machine in _entry(entry, site))
    return tuple(replace(machine, registries=asks) for machine in found)


def _asking(config: Mapping[str, Any]) -> Iterator[str]:
    """The mirror where it asks who pulls. It takes any login: nobody but the stack file knows the right one."""
    supply = config.get(f"{PROJECT}:supply") or {}
    if supply.get("registryLogin"):
        yield str(supply.get("registry")).partition("/")[0]


def secrets(text: str) -> Sequence[str]:
    """Full keys of what a stack of hosts must be told."""
    config = (parsed(text) or {}).get("config") or {}
    login = (config.get(f"{PROJECT}:supply") or {}).get("registryLogin") or {}
    own = [str(login.get("secret", "registryPassword"))] if login else []
    return [f"{PROJECT}:{key}" for key in (*SECRETS, *own)] if machines(text) else []


def files(text: str) -> Mapping[str, Mapping[str, int]]:
    """The datasets, which lie on the shared file system: nothing brings them there."""
    config = (parsed(text) or {}).get("config") or {}
    if not machines(text):
        return {}
    named = [str(each.get("name")) for each in mappings((config.get(f"{PROJECT}:training") or {}).get("datasets"))]
    where = CEPHFS if "ceph" in (config.get(f"{PROJECT}:storage") or {}) else SHARED
    return {where: {f"datasets/{name}/{part(number)}": PART_BYTES for name in named for number in range(PARTS)}}


def part(number: int) -> str:
    """The name of a file of a dataset."""
    return f"part-{number:04}.tar"


def counted(pattern: str) -> list[str]:
    """The values that a pattern stands for: `dgx-[01-32]` counts, in numbers as wide as the first."""
    found = _COUNTING.search(pattern)
    if found is None:
        return [pattern]
    first, last = int(found[1]), int(found[2])
    numbers = [str(number).zfill(len(found[1])) for number in range(first, last + 1)]
    return [f"{pattern[: found.start()]}{number}{pattern[found.end() :]}" for number in numbers]


def mappings(value: Any) -> list[dict[str, Any]]:
    """The mappings among a list's entries."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Site:
    """What machines have in common: the inventory, the pools, whether the storage network is InfiniBand, whether its
    file system is Lustre, how many virtual functions of a fabric's port are to go to pods, what the `fabric` is, and
    which known server each row of the stack's own is like.
    """

    inventory: Mapping[str, Any]
    pools: Mapping[str, Mapping[str, Any]]
    infiniband: bool
    lustre: bool
    vfs: int
    fabric: str
    alike: Mapping[str, str]

    def server(self, pool: str) -> Server:
        """The model of a pool's machines."""
        model = str((self.pools.get(pool) or {}).get("server"))
        return SERVERS.get(self.alike.get(model, model), UNKNOWN)

    def disks(self, name: str) -> list[str]:
        """Disks of the machine of that name."""
        entries = mappings(self.inventory.get("hosts"))
        found = next((each for each in entries if name in counted(str(each.get("name")))), {})
        return [str(each) for each in found.get("disks") or ()]


def _entry(entry: Mapping[str, Any], site: Site) -> Iterator[Machine]:
    inventory = site.inventory
    server = site.server(str(entry.get("pool")))
    names, addresses = counted(str(entry.get("name"))), counted(str(entry.get("address")))
    keys, serials = list(entry.get("hostKeys") or ()), [str(each) for each in entry.get("serials") or ()]
    if not len(names) == len(addresses) == len(keys):
        return
    for at, (name, address, key) in enumerate(zip(names, addresses, keys, strict=True)):
        yield Machine(
            name=name,
            address=address,
            serial=serials[at] if at < len(serials) else f"{name}-serial",
            model=server.model,
            host_key=" ".join(str(key).split()[:2]),
            user=str(inventory.get("user", "ubuntu")),
            cores=server.threads,
            memory_gib=server.memory_gib,
            gpu=server.gpu if inventory.get("driver", "host") == "host" else _undriven(server.gpu),
            drives=tuple(_drives(entry, server, name, site)),
            cards=tuple(_cards(entry, at, site)),
            bridges=("0000:15:01.0", "0000:15:02.0") if server.gpu else (),
            packages=_packages(entry, server, site),
            command_line=FUNCTIONS_LINE if site.vfs and server.gpu else Machine.command_line,
            file_systems=(str(shared["source"]),) if (shared := inventory.get("sharedFiles")) else (),
        )


def _undriven(gpu: Gpu | None) -> Gpu | None:
    return gpu and Gpu(gpu.product, gpu.count, "", gpu.least_watts, gpu.most_watts, gpu.most_mhz, gpu.nvswitch)


def _drives(entry: Mapping[str, Any], server: Server, name: str, site: Site) -> Iterator[Drive]:
    """Drives by their names in the inventory. Partners reach each other's, which are in one enclosure."""
    system = str(entry.get("osDisk") or "/dev/sda").rpartition("/")[2]
    yield Drive("nvme0n1", 1920, "BOOT", "ext4", "/", system)
    disks, partner = [str(each) for each in entry.get("disks") or ()], str(entry.get("partner") or "")
    if not partner:
        for number, path in enumerate(disks, start=1):
            yield Drive(
                f"nvme{number}n1", server.drive_gb, f"DRIVE{number}", path=path.removeprefix("/dev/disk/by-path/")
            )
        return
    for number, path in enumerate([*disks, *site.disks(partner)], start=1):
        place = path.removeprefix("/dev/disk/")
        yield Drive(f"sd{number}", server.drive_gb, place, path=place, enclosure="+".join(sorted((name, partner))))


def _cards(entry: Mapping[str, Any], at: int, site: Site) -> Iterator[Card]:
    """Cards of the fabric, where the inventory says they are, those of the storage network with their addresses, and
    the one by which the host is managed.
    """
    for number, pattern in enumerate(entry.get("storageAddresses") or ()):
        pci, address = f"0000:a{number}:00.0", counted(str(pattern))[at]
        yield Card(pci, f"ibs{number}", vendor="15b3", device="1021", infiniband=site.infiniband, address=address)
    for number, pci in enumerate(entry.get("rails") or ()):
        yield Card(
            str(pci),
            f"ibp{number}",
            vendor="15b3",
            device="1021",
            infiniband=site.fabric == "infiniband",
            vfs=site.vfs,
            rdma=site.fabric == "roce",
        )
    yield Card("0000:01:00.0", str(entry.get("managementNic") or "eno1"), up=True, vendor="8086", device="1563")


def _packages(entry: Mapping[str, Any], server: Server, site: Site) -> dict[str, str]:
    """What the site itself installs: the file system's client on nodes, and on GPU servers what is NVIDIA's."""
    shared = site.inventory.get("sharedFiles")
    mounted = shared.get("kind") == "lustre" if shared else site.lustre and "pool" in entry
    found = {"lustre-client-modules": "2.16.1-1"} if mounted else {}
    if server.gpu and site.inventory.get("driver", "host") == "host":
        found |= {"nvidia-fabricmanager-580": f"{_DRIVER}-1", "doca-ofed": "3.4.1-1"}
    return found
