"""The bill of materials of a stack on AWS: what is rented, in the same sections as on-premises racks."""

from collections.abc import Iterable, Iterator

from catalogue.types import Accelerator
from planner.bom import Basis, Bom, BomLine, Part, free, included
from planner.cost.amounts import Amount
from planner.cost.lines import PriceLine, Prices
from planner.pool_types import AwsPoolPlan

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
