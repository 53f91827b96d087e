"""What the stack costs per hour while it stands."""

from collections.abc import Iterable, Mapping

from catalogue.types import Instance, Price
from planner.types import PriceLine, Prices
from settings.model import FsxLustre, Pool

_HOURS_PER_MONTH = 730


def plan_prices(
    pools: Iterable[Pool],
    lustre: FsxLustre,
    nat_gateways: int,
    instances: Mapping[str, Instance],
    services: Mapping[str, Price],
) -> Prices:
    """Instances, root volumes, cluster, NAT and file system; traffic, S3 and log storage depend on use and are not in.

    A pool without a recorded price is named in `unpriced`, so that a sum is never mistaken for the whole.
    """
    lines, unpriced, volume_gib = [], [], 0
    for pool in pools:
        instance = instances.get(pool.instance_type)
        price = instance and (instance.spot if pool.capacity == "spot" else instance.on_demand)
        volume_gib += pool.count * pool.root_volume_gib
        if price:
            lines.append(_line(f"pool {pool.name}: {pool.instance_type}, {pool.capacity}", pool.count, price))
        elif pool.count:
            unpriced.append(pool.name)
    lines += (
        _line("root volumes, GiB of gp3", volume_gib, services["gp3-gib"]),
        _line("EKS control plane", 1, services["eks"]),
        _line("NAT gateway", nat_gateways, services["nat"]),
        _line(f"FSx for Lustre, GiB of {lustre.deployment_type}", lustre.capacity_gib, services[_fsx(lustre)]),
    )
    hourly = sum(line.usd_per_hour for line in lines)
    return Prices(
        lines=tuple(lines),
        hourly=round(hourly, 2),
        hourly_low=round(sum(line.low for line in lines), 2),
        hourly_high=round(sum(line.high for line in lines), 2),
        monthly=round(hourly * _HOURS_PER_MONTH, 2),
        unpriced=tuple(unpriced),
    )


def _line(name: str, quantity: float, price: Price) -> PriceLine:
    return PriceLine(
        name=name,
        quantity=quantity,
        usd_per_hour=price.usd_per_hour * quantity,
        low=price.low * quantity,
        high=price.high * quantity,
    )


def _fsx(lustre: FsxLustre) -> str:
    tier = f"-{lustre.throughput_mbps_per_tib}" if lustre.throughput_mbps_per_tib else ""
    return f"fsx-{lustre.deployment_type}{tier}-gib"
