"""Resources of the stack that exist already: free addresses in its subnets, its file systems."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from doctor.account import Account
from doctor.case import Case
from doctor.results import Result, Status, judged
from planner.addressing import CONTROL_PLANE_ADDRESSES
from planner.types import Subnet

NOT_YET = "none stands yet"


def addresses(case: Case, account: Account) -> Iterable[Result]:
    """Each subnet that stands has room for another node, or for an update of the control plane."""
    if case.plan.vpc.existing:
        return  # subnets that were there before are looked at by the check of the network
    told = account.every("ec2", "DescribeSubnets", "Subnets", Filters=case.tag_filters)
    by_cidr = {subnet["CidrBlock"]: subnet for subnet in told}
    if not told:
        yield Result(check="addresses", status=Status.OK, subject="subnets", sentence=NOT_YET)
    for planned in case.plan.subnets:
        if planned.cidr in by_cidr:
            yield _judged(case, planned, by_cidr[planned.cidr])


def _judged(case: Case, planned: Subnet, told: Mapping[str, Any]) -> Result:
    free = told["AvailableIpAddressCount"]
    sentence = f"{free:,} of {planned.usable:,} addresses are free; the plan needs up to {planned.needed:,}"
    wrong = []
    if planned.role == "control-plane" and free < CONTROL_PLANE_ADDRESSES:
        remedy = f"free addresses: EKS needs {CONTROL_PLANE_ADDRESSES} to create or update a cluster"
        wrong.append((Status.FAIL, sentence, remedy))
    largest = max(_of_a_node(case, planned), default=0)
    if free < largest:
        remedy = f"free addresses: the next node takes {largest}; look for interfaces without an instance"
        wrong.append((Status.FAIL, sentence, remedy))
    if told.get("AvailabilityZoneId") != planned.zone_id:
        found = f"it stands in {told.get('AvailabilityZoneId')}, and the plan has it in {planned.zone_id}"
        wrong.append((Status.WARN, found, "pulumi preview shows what an update would replace"))
    return judged("addresses", planned.name, sentence, wrong)


def _of_a_node(case: Case, planned: Subnet) -> Iterator[int]:
    """Addresses that a node of each pool takes in this subnet: its own, or those of its pods."""
    for pool in case.plan.pools.values():
        role = "system" if pool.role == "system" else "gpu"
        if planned.role == role:
            yield pool.addresses_per_node
        elif planned.role == "pods" and (role == "system" or planned.zone_id == case.settings.platform.gpu_zone):
            yield pool.pod_addresses_per_node


def file_system(case: Case, account: Account) -> Iterable[Result]:
    """The stack's file system works, and is the one that the stack file describes."""
    held = account.every("fsx", "DescribeFileSystems", "FileSystems")
    own = [each for each in held if case.own(each.get("Tags")) and each.get("LustreConfiguration")]
    if not own:
        yield Result(check="file-system", status=Status.OK, subject="FSx for Lustre", sentence=NOT_YET)
    for told in own:
        yield _compared(case, told)


def _compared(case: Case, told: Mapping[str, Any]) -> Result:
    wanted, lustre = case.settings.storage.lustre, told["LustreConfiguration"]
    wrong = []
    if told["Lifecycle"] not in ("AVAILABLE", "CREATING", "UPDATING"):
        wrong.append(
            (Status.FAIL, f"its state is {told['Lifecycle']}", "see its page in the FSx console for the cause")
        )
    for name, found, planned in (
        ("deployment type", lustre["DeploymentType"], wanted.deployment_type),
        ("capacity in GiB", told["StorageCapacity"], wanted.capacity_gib),
        ("MB/s per TiB", lustre.get("PerUnitStorageThroughput"), wanted.throughput_mbps_per_tib),
    ):
        if found != planned:
            remedy = "pulumi preview shows what an update would do to it"
            wrong.append((Status.WARN, f"{name}: {found} stands, {planned} is in the stack file", remedy))
    fine = f"{lustre['DeploymentType']}, {told['StorageCapacity']:,} GiB, {told['Lifecycle']}"
    return judged("file-system", told["FileSystemId"], fine, wrong)


def home(case: Case, account: Account) -> Iterable[Result]:
    """The file system of people's own files works, and nodes of each zone have an address to mount it by."""
    if case.plan.home is None:
        return
    held = account.every("efs", "DescribeFileSystems", "FileSystems")
    own = [each for each in held if case.own(each.get("Tags"))]
    if not own:
        yield Result(check="home", status=Status.OK, subject="EFS", sentence=NOT_YET)
    for told in own:
        targets = account.every("efs", "DescribeMountTargets", "MountTargets", FileSystemId=told["FileSystemId"])
        yield _mountable(case, told, targets)


def _mountable(case: Case, told: Mapping[str, Any], targets: Iterable[Mapping[str, Any]]) -> Result:
    wrong = []
    if told["LifeCycleState"] not in ("available", "creating", "updating"):
        remedy = "see its page in the EFS console for the cause"
        wrong.append((Status.FAIL, f"its state is {told['LifeCycleState']}", remedy))
    there = {each["AvailabilityZoneId"] for each in targets if each["LifeCycleState"] == "available"}
    if lacking := [zone for zone in case.settings.platform.zones if zone not in there]:
        sentence = f"it has no mount target in {', '.join(lacking)}: pods that claim `home` there do not start"
        wrong.append((Status.FAIL, sentence, "pulumi refresh, then pulumi up, recreates it"))
    if not told.get("Encrypted"):
        wrong.append((Status.FAIL, "it is not encrypted", "create another one: encryption cannot be switched on later"))
    return judged("home", told["FileSystemId"], f"{told['LifeCycleState']}, mounted in {len(there)} zones", wrong)
