"""What a stack on AWS costs while it stands, by the hour and by the month."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from catalogue.types import Price, Rate
from catalogue.units import HOURS_PER_MONTH
from planner.blocks import hours, whole_price
from planner.cost.amounts import BlockPrice, PriceLine, Prices
from planner.nodes import Offers
from planner.pool_types import AwsPoolPlan
from planner.wording import counted


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Use of a month, in decimal GB. The defaults are assumptions; S3 of the region never passes the NAT gateway.

    Images of a node: PyTorch, vLLM and the operators, pulled once and renewed once in a month. Across zones go the API
    server's and the metrics' traffic of the system nodes; collectives and Lustre stay in the GPU zone. `home` is what
    people keep in EFS, whose GB is the console's GiB. `metrics` are those that CloudWatch is asked for.
    """

    nat_gb_per_node: float = 60
    cross_zone_gb_per_system_node: float = 200
    object_gb: float = 1000
    log_gb: float = 20
    flow_log_gb_per_node: float = 0
    home_gb: float = 0
    home_read_gb: float = 0
    home_written_gb: float = 0
    home_backed_up: bool = False
    metrics: int = 0


@dataclass(frozen=True, kw_only=True)
class Around:
    """What a stack has beside its pools: a cluster, NAT gateways, an FSx file system (`fsx` as the price list has it),
    single volumes of `volume_gib` together, load balancers of a gateway, interfaces of endpoints.

    `extended_support`: EKS no longer supports the cluster's minor in the ordinary way.
    """

    nat_gateways: int
    fsx: str
    fsx_gib: int
    volume_gib: int = 0
    extended_support: bool = False
    load_balancers: int = 0
    endpoint_interfaces: int = 0
    traffic: Traffic = field(default_factory=Traffic)


def fsx_service(deployment_type: str, mb_per_s_per_tib: int | None) -> str:
    """The name in the price list of an FSx storage type."""
    tier = f"-{mb_per_s_per_tib}" if mb_per_s_per_tib else ""
    return f"fsx-{deployment_type}{tier}-gib"


def stack_prices(
    pools: Iterable[AwsPoolPlan],
    around: Around,
    services: Mapping[str, Price],
    rates: Mapping[str, Rate],
    always: Mapping[str, int] | None = None,
) -> Prices:
    """Every line of the bill that stands for itself, with the assumptions that the lines of use rest on.

    `always` are the nodes that services with their fewest replicas need of a pool that Karpenter fills, by its name.

    A pool without a recorded price is named in `unpriced`, so that a sum is never mistaken for the whole. Instances
    that are held and not run cost the same (EC2 user guide, "Capacity Reservation pricing and billing"). Nodes of a
    block count at their price per hour, for the hours that the block has; what is paid in advance stands in `blocks`.
    """
    bought = list(pools)
    placed = [pool for pool in bought if pool.count]
    lines = (
        *(line for pool in placed if (line := _pool_line(pool, (always or {}).get(pool.name, 0))) is not None),
        *(line for pool in bought if (line := _idle_line(pool)) is not None),
        *_standing(placed, around, services),
        *_use(placed, around, rates),
    )
    monthly = [line.usd_per_hour * line.hours_per_month for line in lines]
    return Prices(
        lines=lines,
        hourly=round(sum(line.usd_per_hour for line in lines), 2),
        hourly_low=round(sum(line.low for line in lines), 2),
        hourly_high=round(sum(line.high for line in lines), 2),
        monthly=round(sum(monthly), 2),
        by_purpose=_sums(lines, lambda line: line.purpose),
        by_layer=_sums(lines, lambda line: line.layer),
        unpriced=tuple(pool.name for pool in placed if _price(pool) is None),
        blocks=tuple(block for pool in placed for block in _blocks(pool)),
        assumptions=tuple(line.basis for line in lines if line.basis),
    )


def _sums(lines: Iterable[PriceLine], of: Callable[[PriceLine], str]) -> Mapping[str, float]:
    """USD per hour by what the lines are `of`."""
    shares: dict[str, float] = {}
    for line in lines:
        shares[of(line)] = shares.get(of(line), 0.0) + line.usd_per_hour
    return shares


def _price(pool: AwsPoolPlan) -> Price | None:
    """Of one node by the hour: the dearest of what it may be."""
    offers = pool.scaled or pool.spot
    return offers.dearest if offers else pool.instance.price(pool.usage)


def _pool_line(pool: AwsPoolPlan, always: int) -> PriceLine | None:
    price = _price(pool)
    if price is None:
        return None
    name = f"pool {pool.name}: {pool.instance.type}, {pool.usage}"
    if pool.scaled:
        return _scaled_line(pool, pool.scaled, price, min(always, pool.count))
    if pool.spot:
        name = f"pool {pool.name}: {_either(pool.spot)}"
    in_blocks = sum(share.count * hours(share.times.start, share.times.end) for share in pool.shares)
    standing = min(HOURS_PER_MONTH, in_blocks / pool.count) if pool.shares else HOURS_PER_MONTH
    return _line(name, pool.role, "hardware", pool.count, price, hours_per_month=standing, pool=pool.name)


def _scaled_line(pool: AwsPoolPlan, scaled: Offers, dearest: Price, always: int) -> PriceLine:
    """All nodes at the dearest that they may be; at the least those that always run, at the lowest price seen."""
    line = _line(
        f"pool {pool.name}: up to {pool.count} of {_either(scaled)}",
        pool.role,
        "hardware",
        pool.count,
        dearest,
        pool=pool.name,
    )
    usual = f"{counted(always, 'node')} of pool {pool.name} while its services have their fewest replicas"
    usual += f", {always * scaled.cheapest.usd_per_hour:.2f} USD an hour at the cheapest" if scaled.cheapest else ""
    none = f"no node of pool {pool.name} while none of its services has a replica"
    basis = f"{usual if always else none}; the sum counts {pool.count} at the dearest, {line.usd_per_hour:.2f} USD"
    return replace(line, low=always * dearest.low, basis=basis)


def _either(scaled: Offers) -> str:
    types, usages = " or ".join(each.type for each in scaled.types), " or ".join(map(str, scaled.usages))
    return f"{types}, {usages}"


def _idle_line(pool: AwsPoolPlan) -> PriceLine | None:
    price = pool.instance.price(pool.usage)
    if price is None or not pool.idle:
        return None
    name = f"reservation of pool {pool.name}: {pool.instance.type}, held and not run"
    return _line(name, pool.role, "hardware", pool.idle, price)


def _blocks(pool: AwsPoolPlan) -> Iterator[BlockPrice]:
    price = pool.instance.price(pool.usage)
    if price is None:
        return
    for share in pool.shares:
        start, end = share.times.start, share.times.end
        whole = whole_price(price, share.count, start, end)
        yield BlockPrice(pool=pool.name, hours=hours(start, end), **vars(whole))


def _standing(pools: Iterable[AwsPoolPlan], around: Around, services: Mapping[str, Price]) -> Iterable[PriceLine]:
    volume_gib = sum(pool.count * pool.root_volume_gib for pool in pools)
    cluster = "eks-extended" if around.extended_support else "eks"
    support = "EKS control plane, extended support" if around.extended_support else "EKS control plane"
    yield _line("root volumes, GiB of gp3", "platform", "hardware", volume_gib, services["gp3-gib"])
    if around.volume_gib:
        yield _line(
            "volumes of monitoring, GiB of gp3", "platform", "monitoring", around.volume_gib, services["gp3-gib"]
        )
    yield _line(support, "platform", "kubePlatform", 1, services[cluster])
    if around.nat_gateways:
        yield _line("NAT gateway", "platform", "fabric", around.nat_gateways, services["nat"])
    if around.endpoint_interfaces:
        number, each = around.endpoint_interfaces, services["endpoint"]
        yield _line("interfaces of VPC endpoints", "platform", "fabric", number, each)
    if around.load_balancers:
        yield _line("network load balancer", "inference", "workloads", around.load_balancers, services["nlb"])
    kind = around.fsx.removeprefix("fsx-").removesuffix("-gib")
    yield _line(f"FSx for Lustre, GiB of {kind}", "storage", "storage", around.fsx_gib, services[around.fsx])


def _use(pools: Iterable[AwsPoolPlan], around: Around, rates: Mapping[str, Rate]) -> Iterable[PriceLine]:
    placed, traffic = list(pools), around.traffic
    nodes = sum(pool.count for pool in placed)
    system = sum(pool.count for pool in placed if pool.role == "system")
    each = traffic.nat_gb_per_node
    if around.nat_gateways:
        basis = f"{each:g} GB a month for each of {nodes} nodes through the NAT gateway: images"
        yield _used("GB a month through the NAT gateway", "fabric", nodes * each, rates["nat-gb"], basis)
    each = traffic.cross_zone_gb_per_system_node
    basis = f"{each:g} GB a month for each of {system} system nodes across zones"
    yield _used("GB a month across zones", "fabric", system * each, rates["cross-zone-gb"], basis)
    basis = f"{traffic.object_gb:g} GB in the bucket"
    yield _used("GB in S3", "storage", traffic.object_gb, rates["s3-gb-month"], basis)
    basis = f"{traffic.log_gb:g} GB of logs a month"
    yield _used("GB of logs a month", "monitoring", traffic.log_gb, rates["logs-gb"], basis)
    if traffic.metrics:
        basis = f"{traffic.metrics:,} metrics a month asked for at CloudWatch"
        thousands = traffic.metrics / 1000
        yield _used("thousands of metrics asked for a month", "monitoring", thousands, rates["metrics-thousand"], basis)
    if traffic.home_gb:
        yield from _home(traffic, rates)
    if each := traffic.flow_log_gb_per_node:
        basis = f"{each:g} GB a month of flow logs for each of {nodes} nodes"
        yield _used("GB of logs of the network a month", "fabric", nodes * each, rates["logs-gb"], basis)


def _home(traffic: Traffic, rates: Mapping[str, Rate]) -> Iterable[PriceLine]:
    """EFS at the price of its first class: files that are read rarely cost less, and how many they are is not known."""
    kept, read, written = traffic.home_gb, traffic.home_read_gb, traffic.home_written_gb
    yield _used("GB in EFS", "storage", kept, rates["efs-gb-month"], f"{kept:g} GB of people's own files")
    basis = f"{read:g} GB a month read from people's own files"
    yield _used("GB a month read from EFS", "storage", read, rates["efs-read-gb"], basis)
    basis = f"{written:g} GB a month written to people's own files"
    yield _used("GB a month written to EFS", "storage", written, rates["efs-write-gb"], basis)
    if traffic.home_backed_up:
        basis = f"{kept:g} GB of backups of people's own files"
        yield _used("GB of EFS in AWS Backup", "storage", kept, rates["efs-backup-gb-month"], basis)


def _line(
    name: str,
    purpose: str,
    layer: str,
    quantity: float,
    price: Price,
    *,
    hours_per_month: float = HOURS_PER_MONTH,
    pool: str | None = None,
) -> PriceLine:
    return PriceLine(
        name=name,
        purpose=purpose,
        layer=layer,
        quantity=quantity,
        usd_per_hour=price.usd_per_hour * quantity,
        low=price.low * quantity,
        high=price.high * quantity,
        hours_per_month=hours_per_month,
        pool=pool,
    )


def _used(name: str, layer: str, a_month: float, rate: Rate, basis: str) -> PriceLine:
    return PriceLine(
        name=name,
        purpose="traffic",
        layer=layer,
        quantity=a_month,
        usd_per_hour=rate.usd * a_month / HOURS_PER_MONTH,
        low=rate.low * a_month / HOURS_PER_MONTH,
        high=rate.high * a_month / HOURS_PER_MONTH,
        basis=basis,
    )
