"""Bills of materials: what is bought, or rented by the hour, in the ten sections in which a cluster is designed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from catalogue.types import Accelerator
from planner.cost.amounts import Amount, PriceLine, Prices, total
from planner.pool_types import AwsPoolPlan


class Part(StrEnum):
    """The design dimensions of a cluster, each of which has something in its bill."""

    GPU = "GPU subsystem"
    CPU = "CPU platform"
    MEMORY = "memory"
    INTERCONNECT = "interconnect"
    STORAGE = "storage"
    POWER = "power"
    COOLING = "cooling"
    RACK = "racks"
    CABLING = "cabling and optics"
    MANAGEMENT = "management"
    SOFTWARE = "software"


class Basis(StrEnum):
    """How a line is paid: once, by the hour, as a part of another line, or not at all."""

    PURCHASE = "purchase"
    HOURLY = "hourly"
    INCLUDED = "included"
    FREE = "free"


@dataclass(frozen=True, kw_only=True)
class BomLine:
    """`count` of an item, and `spares` on the shelf. `each` is the price of one, None where none is recorded."""

    part: Part
    item: str
    count: float
    basis: Basis
    spares: int = 0
    each: Amount | None = None
    note: str = ""

    @property
    def cost(self) -> Amount | None:
        """The price of them all. Nothing for what is included or free."""
        if self.basis in (Basis.INCLUDED, Basis.FREE):
            return Amount(usd=0, low=0, high=0)
        return self.each.times(self.count + self.spares) if self.each else None

    @property
    def unpriced(self) -> bool:
        """Whether it costs something, and nobody has recorded what."""
        return self.cost is None and self.count + self.spares > 0


@dataclass(frozen=True, kw_only=True)
class Bom:
    """A bill of materials."""

    lines: tuple[BomLine, ...]

    def cost(self, basis: Basis = Basis.PURCHASE) -> Amount:
        """The sum of the priced lines that are paid in this way; `unpriced` says what it leaves out."""
        return total(line.cost for line in self.lines if line.basis is basis and line.cost)

    @property
    def unpriced(self) -> tuple[BomLine, ...]:
        """Lines that the sums leave out."""
        return tuple(line for line in self.lines if line.unpriced)

    @property
    def empty(self) -> tuple[Part, ...]:
        """Design dimensions that no line is about. Software is none of the ten."""
        there = {line.part for line in self.lines if line.count}
        return tuple(part for part in Part if part not in there and part is not Part.SOFTWARE)

    def by_part(self, basis: Basis = Basis.PURCHASE) -> Mapping[Part, Amount]:
        """The sums, part by part."""
        return {
            part: total(line.cost for line in self.lines if line.part is part and line.basis is basis and line.cost)
            for part in Part
        }


def spares(count: int, percent: float) -> int:
    """How many of `count` equal pieces to keep on the shelf: a share of them, one at least where there are any."""
    return max(1, -int(-count * percent // 100)) if count and percent else 0


def bought(part: Part, item: str, count: float, each: Amount | None, *, shelf: int = 0, note: str = "") -> BomLine:
    """A line that is paid once."""
    return BomLine(part=part, item=item, count=count, basis=Basis.PURCHASE, spares=shelf, each=each, note=note)


def included(part: Part, item: str, count: float, where: str) -> BomLine:
    """A line that another one brings along."""
    return BomLine(part=part, item=item, count=count, basis=Basis.INCLUDED, note=f"in {where}")


def free(item: str, note: str) -> BomLine:
    """Software without a price."""
    return BomLine(part=Part.SOFTWARE, item=item, count=1, basis=Basis.FREE, note=note)


_PARTS = {"storage": Part.STORAGE, "platform": Part.MANAGEMENT, "traffic": Part.INTERCONNECT}
_KEPT = ("root volumes", "GB in S3")
_WRITTEN = ("GB of logs",)
_OF_AWS = {
    Part.POWER: "power with redundant feeds",
    Part.COOLING: "cooling",
    Part.RACK: "racks",
    Part.CABLING: "cables and optics of the UltraCluster",
}


def aws_bom(pools: Iterable[AwsPoolPlan], prices: Prices, software: Iterable[tuple[str, str]] = ()) -> Bom:
    """Instances, storage and services by the hour; what AWS brings is included. `software` is (name, version)."""
    planned = [pool for pool in pools if pool.count]
    by_pool = {line.pool: line for line in prices.lines if line.pool}
    return Bom(
        lines=(
            *(line for pool in planned for line in _pool(pool, by_pool.get(pool.name))),
            *(_service(line) for line in prices.lines if line.purpose in _PARTS),
            *(included(part, item, 1, "the instances' price") for part, item in _OF_AWS.items()),
            *(free(name, version) for name, version in software),
        )
    )


def _pool(pool: AwsPoolPlan, line: PriceLine | None) -> Iterator[BomLine]:
    row = pool.instance
    part = Part.GPU if row.accelerator is Accelerator.GPU else Part.CPU
    yield BomLine(
        part=part,
        item=row.type,
        count=pool.count,
        basis=Basis.HOURLY,
        each=_each(line) if line else None,
        note=f"pool {pool.name}, {pool.usage}" + (f", block {pool.block.reservation}" if pool.block else ""),
    )
    if row.gpu:
        yield included(Part.GPU, f"GPU {row.gpu.name}", pool.gpus, row.type)
    yield included(Part.CPU, "vCPU", pool.count * row.vcpu, row.type)
    yield included(Part.MEMORY, "GiB of memory", pool.count * row.memory_gib, row.type)
    if pool.efa:
        yield included(Part.INTERCONNECT, "EFA interface", pool.count * pool.efa, row.type)
    if row.nvme:
        yield included(Part.STORAGE, f"NVMe drive of {row.nvme.size_gb} GB", pool.count * row.nvme.count, row.type)


def _service(line: PriceLine) -> BomLine:
    part = _PARTS[line.purpose]
    if line.name.startswith(_KEPT):
        part = Part.STORAGE
    elif line.name.startswith(_WRITTEN):
        part = Part.MANAGEMENT
    return BomLine(
        part=part, item=line.name, count=line.quantity, basis=Basis.HOURLY, each=_each(line), note=line.basis
    )


def _each(line: PriceLine) -> Amount:
    """The price of one; a line of nothing has none to divide by."""
    whole = Amount(usd=line.usd_per_hour, low=line.low, high=line.high)
    return whole.times(1 / line.quantity) if line.quantity else whole
