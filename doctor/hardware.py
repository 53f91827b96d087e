"""Rows of the catalogue beside what EC2 says of the types, and whether the region and its zones offer them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from catalogue.types import Instance
from doctor.account import Account
from doctor.case import Case
from doctor.results import Result, Status, judged

GPU_NAMES = {"A100 40GB": "A100", "A100 80GB": "A100", "RTX PRO 6000": "RTX PRO Server 6000"}
"""What EC2 calls GPUs that the catalogue names otherwise; it tells the sizes of an A100 apart by memory."""

_VISIBLE_MEMORY = (0.9, 1.05)
"""EC2's GiB of a GPU by its nominal GB."""

_ROW = "correct the row in catalogue/instances, or override it in gpucluster:catalogue.instances"


class Fact(NamedTuple):
    """One fact of a type, as the catalogue has it and as EC2 tells it."""

    name: str
    row: object
    told: object


def instance_facts(case: Case, account: Account) -> Iterable[Result]:
    """Each type is what its row says."""
    for pool in case.settings.pools:
        if pool.instance_type not in case.types:
            yield Result(
                check="instance",
                status=Status.FAIL,
                subject=pool.instance_type,
                sentence=f"the catalogue has no such type, and pool {pool.name} is made of it",
                remedy="make plan suggests alternatives",
            )
    described = _described(case, account)
    for name, planned in case.types.items():
        if name not in described:
            yield Result(
                check="instance",
                status=Status.FAIL,
                subject=name,
                sentence=f"EC2 in {case.region} knows no such type",
                remedy="use another type, or a region that has it; make plan lists known types",
            )
            continue
        told, row = described[name], planned.instance
        wrong = [
            (Status.FAIL, f"{fact.name}: {fact.told} says EC2, {fact.row} the catalogue", _ROW)
            for fact in facts(row, told)
            if fact.row != fact.told
        ]
        grouped = any(pool.placement_group for pool in case.plan.pools.values() if pool.hardware == name)
        if grouped and "cluster" not in told.get("PlacementGroupInfo", {}).get("SupportedStrategies", ()):
            remedy = "use a type with EFA that cluster placement groups support"
            wrong.append((Status.FAIL, "it cannot join a cluster placement group", remedy))
        yield judged("instance", name, f"as the catalogue has it: {_spoken(row)}", wrong)


def offerings(case: Case, account: Account) -> Iterable[Result]:
    """GPU types are offered in the GPU zone, the system pool's types in every zone that the stack uses."""
    if not case.types:
        return
    filters = [{"Name": "instance-type", "Values": sorted(case.types)}]
    platform = case.settings.platform
    request = {"LocationType": "availability-zone-id", "Filters": filters}
    told = account.every("ec2", "DescribeInstanceTypeOfferings", "InstanceTypeOfferings", **request)
    offered: dict[str, set[str]] = {name: set() for name in case.types}
    for row in told:
        offered.setdefault(row["InstanceType"], set()).add(row["Location"])
    for pool in case.plan.pools.values():
        wanted = platform.zones if pool.role == "system" else (platform.gpu_zone,)
        missing = [zone for zone in wanted if zone not in offered[pool.hardware]]
        has = ", ".join(sorted(offered[pool.hardware])) or f"no zone of {case.region}"
        remedy = "take another type" if not offered[pool.hardware] else "move gpucluster:platform.gpuZone, or the type"
        status = Status.WARN if 0 < len(missing) < len(wanted) else Status.FAIL
        wrong = [(status, f"{pool.hardware} is not offered in {', '.join(missing)}, but in {has}", remedy)]
        fine = f"{pool.hardware} is offered in {', '.join(wanted)}"
        yield judged("offering", pool.name, fine, wrong if missing else ())


def zones(case: Case, account: Account) -> Iterable[Result]:
    """The account may use the stack's zones."""
    told = account.every("ec2", "DescribeAvailabilityZones", "AvailabilityZones")
    known = {zone["ZoneId"]: zone for zone in told}
    for zone in case.settings.platform.zones:
        wrong = []
        if zone not in known:
            sentence = f"the account has no such zone in {case.region}; its zones are {', '.join(sorted(known))}"
            wrong.append((Status.FAIL, sentence, "name one of those in gpucluster:platform.zones"))
        elif known[zone]["State"] != "available":
            sentence = f"its state is {known[zone]['State']}"
            wrong.append((Status.FAIL, sentence, "wait, or take another zone in gpucluster:platform.zones"))
        yield judged("zone", zone, f"available as {known.get(zone, {}).get('ZoneName')}", wrong)


def facts(row: Instance, told: Mapping[str, Any]) -> list[Fact]:
    """What is compared. A GPU's memory counts as equal within what drivers and firmware take of it."""
    network = told["NetworkInfo"]
    cards = network.get("NetworkCards", ())
    disks = told.get("InstanceStorageInfo", {}).get("Disks", ())
    gpus = told.get("GpuInfo", {}).get("Gpus", ())
    architectures = told["ProcessorInfo"]["SupportedArchitectures"]
    return [
        Fact("vCPU", row.vcpu, told["VCpuInfo"]["DefaultVCpus"]),
        Fact("memory in GiB", row.memory_gib, _whole(told["MemoryInfo"]["SizeInMiB"] / 1024)),
        Fact(
            "architecture",
            str(row.architecture),
            str(row.architecture) if row.architecture in architectures else " or ".join(architectures),
        ),
        Fact("GPUs", row.gpu_count, sum(gpu["Count"] for gpu in gpus)),
        *_gpu_facts(row, gpus),
        Fact("network cards", len(row.cards), len(cards)),
        Fact("EFA interfaces", row.efa_max, network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)),
        Fact(
            "cards with EFA",
            _numbers(card.index for card in row.cards if card.efa),
            _numbers(card["NetworkCardIndex"] for card in cards if "efa" in card.get("InterfaceTypes", ())),
        ),
        Fact(
            "interfaces per card",
            _numbers({card.max_interfaces for card in row.cards}),
            _numbers({card["MaximumNetworkInterfaces"] for card in cards}),
        ),
        Fact("addresses per interface", row.addresses_per_interface, network["Ipv4AddressesPerInterface"]),
        Fact("NVMe", _disks([(row.nvme.count, row.nvme.size_gb)] if row.nvme else []), _disks(_pairs(disks))),
        Fact("ways to buy", _words(row.usage_classes), _words(told["SupportedUsageClasses"])),
    ]


def _gpu_facts(row: Instance, gpus: Iterable[Mapping[str, Any]]) -> Iterable[Fact]:
    for gpu in gpus:
        if row.gpu is None:
            yield Fact("GPU", "none", gpu["Name"])
            continue
        yield Fact("GPU", GPU_NAMES.get(row.gpu.name, row.gpu.name), gpu["Name"])
        gib = gpu["MemoryInfo"]["SizeInMiB"] / 1024
        close = _VISIBLE_MEMORY[0] < gib / row.gpu.memory_gb < _VISIBLE_MEMORY[1]
        nominal = f"{row.gpu.memory_gb} GB"
        yield Fact("GPU memory", nominal, nominal if close else f"{gib:.0f} GiB")


def _described(case: Case, account: Account) -> dict[str, Mapping[str, Any]]:
    """What EC2 says of the stack's types; a filter leaves out what it does not know, where a name would be an error."""
    if not case.types:
        return {}
    filters = [{"Name": "instance-type", "Values": sorted(case.types)}]
    told = account.every("ec2", "DescribeInstanceTypes", "InstanceTypes", Filters=filters)
    return {row["InstanceType"]: row for row in told}


def _spoken(row: Instance) -> str:
    gpus = f"{row.gpu_count} {row.gpu.name}, " if row.gpu else ""
    nvme = f", NVMe {row.nvme.count} x {row.nvme.size_gb} GB" if row.nvme else ""
    network = f"{len(row.cards)} network cards, {row.efa_max} EFA interfaces"
    return f"{row.vcpu} vCPU, {row.memory_gib} GiB, {gpus}{network}{nvme}"


def _pairs(disks: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
    return [(disk["Count"], disk["SizeInGB"]) for disk in disks]


def _disks(pairs: Iterable[tuple[int, int]]) -> str:
    return " and ".join(f"{count} x {size} GB" for count, size in pairs) or "none"


def _numbers(values: Iterable[int]) -> str:
    """Numbers with runs written as ranges: 0-15, 17."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) or "none"


def _words(values: Iterable[str]) -> str:
    return ", ".join(sorted(str(value) for value in values))


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value
