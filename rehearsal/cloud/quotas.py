"""Service Quotas: what the account may have. Kept apart from the program's catalogue, or both would agree by birth.

Sources: Service Quotas API reference; defaults and codes from the AWS General Reference, "Amazon EC2 instance type
quotas", and the quota pages of the VPC, EKS, EBS and FSx for Lustre user guides. The account is one that has been used:
its GPU and standard instances were raised. Only the vCPU of instances are refused beyond their quota
(`rehearsal.cloud.ec2.capacity`).
"""

from dataclasses import dataclass
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.responses import ActionResult
from moto.servicequotas import urls

from rehearsal.cloud.account import ACCOUNT
from rehearsal.cloud.service import Refusal, Service

SERVICES = {
    "ec2": "Amazon Elastic Compute Cloud (Amazon EC2)",
    "vpc": "Amazon Virtual Private Cloud (Amazon VPC)",
    "eks": "Amazon Elastic Kubernetes Service (Amazon EKS)",
    "ebs": "Amazon Elastic Block Store (Amazon EBS)",
    "fsx": "Amazon FSx",
}
_STANDARD = "Standard (A, C, D, H, I, M, R, T, Z)"
PAGE = 100


@dataclass(frozen=True, slots=True)
class Row:
    """A quota: where it is, its name, what a new account has and what this one was raised to."""

    service: str
    code: str
    name: str
    default: float
    raised: float | None = None


ROWS = (
    Row("ec2", "L-1216C47A", f"Running On-Demand {_STANDARD} instances", 5, 640),
    Row("ec2", "L-DB2E81BA", "Running On-Demand G and VT instances", 0, 768),
    Row("ec2", "L-417A185B", "Running On-Demand P instances", 0, 2304),
    Row("ec2", "L-1945791B", "Running On-Demand Inf instances", 0),
    Row("ec2", "L-F7808C92", "Running On-Demand HPC instances", 0),
    Row("ec2", "L-34B43A08", f"All {_STANDARD} Spot Instance Requests", 5, 640),
    Row("ec2", "L-3819A6DF", "All G and VT Spot Instance Requests", 0, 768),
    Row("ec2", "L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests", 0, 384),
    Row("ec2", "L-C4BD4855", "All P5 Spot Instance Requests", 0, 384),
    Row("ec2", "L-B5D1601B", "All Inf Spot Instance Requests", 0),
    Row("ec2", "L-2C8F52B3", "Concurrent P4d Capacity Blocks per account", 0),
    Row("ec2", "L-DA6814F2", "Concurrent P5 Capacity Blocks per account", 0, 12288),
    Row("ec2", "L-C45F30BC", "Concurrent P5e Capacity Blocks per account", 0),
    Row("ec2", "L-4F9BB70B", "Concurrent P5en Capacity Blocks per account", 0, 12288),
    Row("ec2", "L-0263D0A3", "EC2-VPC Elastic IPs", 5),
    Row("vpc", "L-F678F1CE", "VPCs per Region", 5),
    Row("vpc", "L-A4707A72", "Internet gateways per Region", 5),
    Row("vpc", "L-FE5A380F", "NAT gateways per Availability Zone", 5),
    Row("vpc", "L-DF5E4CA3", "Network interfaces per Region", 5000),
    Row("vpc", "L-407747CB", "Subnets per VPC", 200),
    Row("eks", "L-1194D53C", "Clusters", 100),
    Row("eks", "L-6D54EA21", "Managed node groups per cluster", 30),
    Row("eks", "L-BD136A63", "Nodes per managed node group", 450),
    Row("ebs", "L-7A658B76", "Storage for General Purpose SSD (gp3) volumes, in TiB", 50),
    Row("fsx", "L-AD2FC696", "Lustre Scratch storage capacity", 100_800),
    Row("fsx", "L-8F1B9C74", "Lustre Persistent_2 storage capacity", 100_800),
    Row("fsx", "L-C48231E5", "Lustre Scratch file systems", 100),
    Row("fsx", "L-FD6F2F22", "Lustre Persistent_2 file systems", 100),
)


class QuotaBackend(BaseBackend):  # type: ignore[misc]
    """The quotas of one region that were set on order, by service and code."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.values: dict[tuple[str, str], float] = {}


QUOTA_BACKENDS = BackendDict(QuotaBackend, "service-quotas")


def set_quota(region: str, service: str, code: str, order: dict[str, Any]) -> dict[str, Any]:
    """Set one quota of a region; ``{"value": number}``, or ``{}`` for what the account has by itself."""
    _row(service, code)
    values: dict[tuple[str, str], float] = QUOTA_BACKENDS[ACCOUNT][region].values
    if "value" in order:
        values[service, code] = float(order["value"])
    else:
        values.pop((service, code), None)
    return {}


def held(region: str, service: str, code: str) -> float:
    """The value that holds in a region: set on order, else what the account was raised to, else the default."""
    row = _row(service, code)
    found: float = QUOTA_BACKENDS[ACCOUNT][region].values.get(
        (service, code), row.default if row.raised is None else row.raised
    )
    return found


class QuotaResponder(Service):
    """Reading quotas: applied values and defaults."""

    NAME = "service-quotas"
    INVALID = "IllegalArgumentException"

    def get_service_quota(self) -> ActionResult:
        """The value that holds."""
        given = self.input
        return ActionResult({"Quota": self._shown(_row(given["ServiceCode"], given["QuotaCode"]))})

    def get_aws_default_service_quota(self) -> ActionResult:
        """What a new account has."""
        given = self.input
        row = _row(given["ServiceCode"], given["QuotaCode"])
        return ActionResult({"Quota": {**self._shown(row), "Value": row.default}})

    def list_service_quotas(self) -> ActionResult:
        """All of a service, page by page."""
        given = self.input
        rows = [row for row in ROWS if row.service == given["ServiceCode"]]
        if not rows:
            raise Refusal("NoSuchResourceException", f"Service {given['ServiceCode']} has no quotas.")
        start = int(given.get("NextToken") or 0)
        end = start + int(given.get("MaxResults") or PAGE)
        token = str(end) if end < len(rows) else None
        return ActionResult({"Quotas": [self._shown(row) for row in rows[start:end]], "NextToken": token})

    def _shown(self, row: Row) -> dict[str, Any]:
        return {
            "ServiceCode": row.service,
            "ServiceName": SERVICES[row.service],
            "QuotaArn": f"arn:aws:servicequotas:{self.region}:{ACCOUNT}:{row.service}/{row.code}",
            "QuotaCode": row.code,
            "QuotaName": row.name,
            "Value": held(self.region, row.service, row.code),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
            "QuotaAppliedAtLevel": "ACCOUNT",
        }


def _row(service: str, code: str) -> Row:
    for row in ROWS:
        if (row.service, row.code) == (service, code):
            return row
    raise Refusal("NoSuchResourceException", f"The quota {code} of {service} does not exist.")


def route() -> None:
    """Send Service Quotas here instead of to moto, which knows those of VPCs only."""
    urls.url_paths["{0}/$"] = QuotaResponder.dispatch
