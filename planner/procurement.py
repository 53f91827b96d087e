"""What has to be asked for and confirmed before a stack is bought: service quotas, and the checklist."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from catalogue import quotas
from catalogue.quotas import Quota, QuotaUnit
from catalogue.types import Instance, UsageClass
from catalogue.units import GIB_PER_TIB
from planner.bom import Basis, Bom, BomLine
from planner.pool_types import AwsPoolPlan
from planner.wording import counted, usd

_PLATFORM_INTERFACES_PER_ZONE = 2
"""Those of the EKS control plane in each of its zones; NAT and FSx are counted apart."""


@dataclass(frozen=True, kw_only=True)
class QuotaNeed:
    """A quota and how much of it the stack takes, what else runs in the account and region apart."""

    quota: Quota
    need: float
    basis: str

    @property
    def beyond_default(self) -> bool:
        """Whether a new account has too little of it."""
        return self.need > self.quota.default


def instance_quota(instance: Instance, usage: UsageClass) -> Quota:
    """The quota that counts the vCPU of instances of this type when they are bought in this way."""
    by_prefix = quotas.INSTANCE_QUOTAS[usage]
    return by_prefix[max((prefix for prefix in by_prefix if instance.type.startswith(prefix)), key=len)]


def quota_needs(
    pools: Iterable[AwsPoolPlan],
    *,
    zones: int,
    nat_gateways: int,
    fsx_type: str,
    fsx_gib: int,
    fsx_interfaces: int,
    endpoints: int = 0,
    endpoint_interfaces: int = 0,
    home_interfaces: int = 0,
    own_vpc: bool = True,
) -> tuple[QuotaNeed, ...]:
    """Every quota that the stack takes from, the instances' first.

    vCPU are summed per quota. What an update runs beside the pools' own nodes counts too. Instances of a capacity block
    do not count against On-Demand quotas (EC2 user guide, "Capacity Blocks for ML", considerations) but against those
    of the blocks. Nodes that Karpenter makes have no node group; a pool on spot that falls back has two.
    """
    named = list(pools)
    placed = [pool for pool in named if pool.count]
    grouped = [pool for pool in placed if pool.scaled is None]
    nodes = sum(_most(pool) for pool in placed)
    interfaces = sum(_most(pool) * pool.interfaces_per_node for pool in placed)
    around = nat_gateways + fsx_interfaces + endpoint_interfaces + home_interfaces
    around += zones * _PLATFORM_INTERFACES_PER_ZONE
    inside = (", EFS" if home_interfaces else "") + (", endpoints" if endpoints else "")
    volumes_tib = sum(_most(pool) * pool.root_volume_gib for pool in placed) / GIB_PER_TIB
    storage = quotas.FSX_STORAGE[fsx_type]
    return (
        *_vcpu(pool for pool in named if pool.count or _held(pool)),
        *(_of_own_vpc(nat_gateways) if own_vpc else ()),
        QuotaNeed(
            quota=quotas.INTERFACES,
            need=interfaces + around,
            basis=f"{interfaces} of {nodes} nodes, {around} of NAT, FSx{inside} and the control plane",
        ),
        *(
            [QuotaNeed(quota=quotas.INTERFACE_ENDPOINTS, need=endpoints, basis="one per service of AWS")]
            if endpoints
            else []
        ),
        QuotaNeed(quota=quotas.CLUSTERS, need=1, basis="the stack's own cluster"),
        QuotaNeed(quota=quotas.NODE_GROUPS, need=sum(1 + pool.falls_back for pool in grouped), basis="one per pool"),
        QuotaNeed(
            quota=quotas.NODES_PER_GROUP,
            need=max((pool.count for pool in grouped), default=0),
            basis="the largest pool",
        ),
        QuotaNeed(quota=quotas.GP3_STORAGE, need=volumes_tib, basis="root volumes"),
        QuotaNeed(quota=storage, need=fsx_gib, basis="the shared file system"),
    )


def _of_own_vpc(nat_gateways: int) -> Iterable[QuotaNeed]:
    yield QuotaNeed(quota=quotas.VPCS, need=1, basis="the stack's own VPC")
    yield QuotaNeed(quota=quotas.ELASTIC_IPS, need=nat_gateways, basis="one per NAT gateway")
    yield QuotaNeed(quota=quotas.NAT_GATEWAYS, need=min(nat_gateways, 1), basis="one in a zone at most")


def _most(pool: AwsPoolPlan) -> int:
    """Instances that may run at once."""
    return pool.count + pool.surge


def _held(pool: AwsPoolPlan) -> int:
    """Instances that the stack reserves on demand and does not run: they count as if they ran."""
    return pool.idle if pool.held else 0


def _taken(pool: AwsPoolPlan) -> Iterable[tuple[Instance, UsageClass]]:
    """What takes most of a quota, in each way to buy it: all nodes may be of it."""
    offers = pool.scaled or pool.spot
    return ((offers.quota_instance, usage) for usage in offers.usages) if offers else ((pool.instance, pool.usage),)


def _vcpu(pools: Iterable[AwsPoolPlan]) -> Iterable[QuotaNeed]:
    summed: dict[str, tuple[Quota, int, list[str]]] = {}
    for pool in pools:
        for instance, usage in _taken(pool):
            quota, idle = instance_quota(instance, usage), _held(pool)
            _, vcpu, parts = summed.get(quota.name, (quota, 0, []))
            update = f" and {pool.surge} more in an update" if pool.surge else ""
            held = f" and {idle} more held" if idle else ""
            part = f"{pool.count} x {instance.vcpu} of {instance.type}{update}{held}"
            summed[quota.name] = (quota, vcpu + (_most(pool) + idle) * instance.vcpu, [*parts, part])
    for quota, vcpu, parts in summed.values():
        yield QuotaNeed(quota=quota, need=vcpu, basis=", ".join(parts))


def requests(needs: Iterable[QuotaNeed]) -> dict[str, float]:
    """What to ask Service Quotas for, by the quota's name: the quotas of which a new account has too little."""
    return {need.quota.name: need.need for need in needs if need.beyond_default}


_WIDE = 1.5
"""A price whose high end is so many times its low end is an order of magnitude, not a quotation."""
_MANY_USD = 100


class Status(StrEnum):
    """What remains to be done about a line."""

    DERIVED = "derived"
    CONFIRM = "to confirm"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class Check:
    """A line of the list: its section, the thing, what remains, and why or how."""

    section: str
    item: str
    status: Status
    note: str


def bill_checks(bom: Bom) -> Iterator[Check]:
    """The bill, line by line, and the design dimensions of which it has none."""
    for line in bom.lines:
        yield Check(section=line.part, item=_counted(line), status=_status(line), note=_note(line))
    for part in bom.empty:
        yield Check(section=part, item="nothing", status=Status.MISSING, note="the stack says nothing about it")


def quota_checks(needs: Iterable[QuotaNeed]) -> Iterator[Check]:
    """The service quotas: those that a new account has, and those to ask for before the deployment."""
    for need in needs:
        quota = need.quota
        code = f"{quota.service} {quota.code}" if quota.code else f"{quota.service}, code not known"
        yield Check(
            section="service quotas",
            item=f"{need.need:g} {'' if quota.unit is QuotaUnit.COUNT else f'{quota.unit} '}of {quota.name}",
            status=Status.CONFIRM if need.beyond_default else Status.DERIVED,
            note=f"{code}; a new account has {quota.default:g}; {need.basis}",
        )


def block_checks(blocks: Iterable[tuple[str, str, date, date]]) -> Iterator[Check]:
    """Capacity blocks: (pool, reservation, first day, last day), which nobody but their buyer can vouch for."""
    for pool, reservation, start, end in blocks:
        yield Check(
            section="capacity blocks",
            item=f"{reservation} for pool {pool}",
            status=Status.CONFIRM,
            note=f"{start} to {end}, paid in advance, cannot be cancelled: compare with EC2's console",
        )


def room_checks(
    *, planned_kw: float, rooms_kw: float | None, circuits: int, outlets: Mapping[str, int], deliver_to: str
) -> Iterator[Check]:
    """What the room's owner has to confirm before anything is ordered. `rooms_kw` is what its cooling carries away,
    `outlets` are those of all feeds by their kind.
    """
    yield Check(
        section="facility",
        item=f"{planned_kw:.1f} kW of power with its margin, on {counted(circuits, 'circuit')}",
        status=Status.CONFIRM,
        note=f"the room's owner confirms them in writing, for {deliver_to}",
    )
    for kind, count in outlets.items():
        yield Check(
            section="facility",
            item=f"{count} outlets {kind}",
            status=Status.CONFIRM,
            note="of the racks' power strips, shared among the feeds; one for each cord",
        )
    yield Check(
        section="facility",
        item=f"{planned_kw:.1f} kW of heat to carry away",
        status=Status.MISSING if rooms_kw is None else Status.CONFIRM,
        note="no capacity is given" if rooms_kw is None else f"the room is said to carry {rooms_kw:g} kW",
    )


def open_checks(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Those that are not done: what is missing first."""
    order = [Status.MISSING, Status.CONFIRM]
    return tuple(
        sorted((check for check in checks if check.status in order), key=lambda check: order.index(check.status))
    )


def _counted(line: BomLine) -> str:
    more = f" and {line.spares} spare" if line.spares and line.count else ""
    return f"{line.count or line.spares:g} x {line.item}{more}"


def _status(line: BomLine) -> Status:
    if line.unpriced:
        return Status.MISSING
    if line.basis in (Basis.INCLUDED, Basis.FREE) or line.each is None:
        return Status.DERIVED
    return Status.CONFIRM if line.each.high >= line.each.low * _WIDE else Status.DERIVED


def _note(line: BomLine) -> str:
    if line.unpriced:
        return "no price is recorded: ask for a quotation"
    if line.each is None or line.basis in (Basis.INCLUDED, Basis.FREE):
        return line.note
    unit = "an hour" if line.basis is Basis.HOURLY else "each"
    seen = f"{_usd(line.each.low)} to {_usd(line.each.high)} USD {unit}"
    return f"{seen}; {line.note}" if line.note else seen


def _usd(amount: float) -> str:
    """Cents only where there are few dollars."""
    return f"{amount:,.0f}" if amount >= _MANY_USD else usd(amount)
