"""What AWS charges, approximately: US East list prices, with the range seen over commercial regions or tables."""

from datetime import date

from catalogue.types import Per, Price, Rate
from catalogue.units import HOURS_PER_MONTH

_PRICE_LIST = "AWS price list as collected in skypilot-org/skypilot-catalog v8 aws/vms.csv; range over regions"
_TABLES = "AWS list price, US East, Linux, as repeated in public price tables; range over the tables"
_AUGUST_2026 = date(2026, 8, 1)

BLOCK_PAGE = "AWS price page of EC2 Capacity Blocks for ML, US East; range over the prices it has shown"
BLOCK_TABLES = "price of EC2 Capacity Blocks for ML as reported in public price tables; range over the reports"

LISTED_REGIONS = frozenset({"us-east-1", "us-east-2", "us-west-2"})
"""Regions where the US list prices hold."""


def listed(usd: float, high: float | None = None) -> Price:
    """On-demand price per hour from the price list; `high` is the dearest commercial region seen."""
    return Price(usd_per_hour=usd, low=usd, high=high or usd, as_of=_AUGUST_2026, source=_PRICE_LIST)


def tabled(usd: float, high: float | None = None) -> Price:
    """On-demand price per hour known from public tables only."""
    return Price(usd_per_hour=usd, low=usd, high=high or usd, as_of=_AUGUST_2026, source=_TABLES)


def spot(usd: float, low: float, high: float) -> Price:
    """Spot price per hour: a snapshot, and the spread over zones and days in which it was seen."""
    return Price(usd_per_hour=usd, low=low, high=high, as_of=_AUGUST_2026, source="spot prices seen in August 2026")


def block(usd: float, low: float, high: float, as_of: date, source: str) -> Price:
    """Price per instance and hour of a capacity block, which AWS sets anew every few months and takes in advance."""
    return Price(usd_per_hour=usd, low=low, high=high, as_of=as_of, source=source)


def _monthly(usd: float, high: float, source: str) -> Price:
    hourly = tuple(value / HOURS_PER_MONTH for value in (usd, high))
    return Price(usd_per_hour=hourly[0], low=hourly[0], high=hourly[1], as_of=_AUGUST_2026, source=source)


def _rate(usd: float, high: float, per: Per, source: str) -> Rate:
    return Rate(usd=usd, per=per, low=usd, high=high, as_of=_AUGUST_2026, source=source)


_FSX = "FSx for Lustre price page, US East, per GB-month; high end: ap-northeast-1"

SERVICES = {
    "eks": tabled(0.10),
    "eks-extended": tabled(0.60),
    "nat": tabled(0.045, 0.062),
    "endpoint": tabled(0.01, 0.014),
    "nlb": Price(
        usd_per_hour=0.0225,
        low=0.0225,
        high=0.034,
        as_of=_AUGUST_2026,
        source="Elastic Load Balancing price page, Network Load Balancer, US East, without its capacity units; high "
        "end: sa-east-1",
    ),
    "alb": Price(
        usd_per_hour=0.0225,
        low=0.0225,
        high=0.034,
        as_of=_AUGUST_2026,
        source="Elastic Load Balancing price page, Application Load Balancer, US East, without its capacity units; "
        "high end: sa-east-1",
    ),
    "clb": Price(
        usd_per_hour=0.025,
        low=0.025,
        high=0.034,
        as_of=_AUGUST_2026,
        source="Elastic Load Balancing price page, Classic Load Balancer, US East, without data; high end: sa-east-1",
    ),
    "address": Price(
        usd_per_hour=0.005,
        low=0.005,
        high=0.005,
        as_of=_AUGUST_2026,
        source="VPC price page, Public IPv4 Addresses: in use or idle, in every commercial region",
    ),
    "gp3-gib": _monthly(0.08, 0.0952, "EBS price page, gp3 storage, US East, per GB-month; high end: eu-central-1"),
    "fsx-SCRATCH_2-gib": _monthly(0.140, 0.188, _FSX),
    "fsx-PERSISTENT_2-125-gib": _monthly(0.145, 0.188, _FSX),
    "fsx-PERSISTENT_2-250-gib": _monthly(0.210, 0.280, _FSX),
    "fsx-PERSISTENT_2-500-gib": _monthly(0.340, 0.468, _FSX),
    "fsx-PERSISTENT_2-1000-gib": _monthly(0.600, 0.845, _FSX),
}
"""Per hour: a cluster in standard and in extended support, a NAT gateway, an interface of a VPC endpoint (PrivateLink
price page: each endpoint in each zone), a load balancer of each kind, a public address, one GiB of the storage types.

AWS's price-page GB of a disk is the console's GiB.
"""

RATES = {
    "nat-gb": _rate(
        0.045, 0.062, Per.GB, "VPC price page, data through a NAT gateway, US East; high end: Asia Pacific"
    ),
    "cross-zone-gb": _rate(
        0.02, 0.02, Per.GB, "EC2 price page, data transfer between zones of a region: 0.01 on the way out and 0.01 in"
    ),
    "s3-gb-month": _rate(0.023, 0.025, Per.GB_MONTH, "S3 price page, Standard, first 50 TB, US East; high end: Tokyo"),
    "efs-gb-month": _rate(0.30, 0.36, Per.GB_MONTH, "EFS price page, Standard, regional, US East; high end: Tokyo"),
    "efs-read-gb": _rate(0.03, 0.04, Per.GB, "EFS price page, elastic throughput, reads, US East; high end: Tokyo"),
    "efs-write-gb": _rate(0.06, 0.07, Per.GB, "EFS price page, elastic throughput, writes, US East; high end: Tokyo"),
    "efs-backup-gb-month": _rate(
        0.05, 0.06, Per.GB_MONTH, "AWS Backup price page, EFS, warm storage, US East; high end: Tokyo"
    ),
    "logs-gb": _rate(0.50, 0.76, Per.GB, "CloudWatch price page, logs ingested, US East; high end: Asia Pacific"),
    "metrics-thousand": _rate(
        0.01, 0.01, Per.THOUSAND, "CloudWatch price page, GetMetricData: per 1,000 metrics requested"
    ),
}
"""Charges that follow use: what a NAT gateway passes on, what crosses zones, what lies in S3 and EFS, what is logged,
what CloudWatch is asked for."""
