"""Service quotas."""

from collections.abc import Iterable

from catalogue.quotas import QuotaUnit
from planner.draft import AwsDraft, aws_warning
from planner.findings import Observation


@aws_warning(
    "Z04 A07", formula="need <= default", source="Default values in AWS Service Quotas and the services' user guides"
)
def quota_above_default(draft: AwsDraft) -> Iterable[Observation]:
    """What a new account has suffices. vCPU are left out: of those it has none for GPUs, so everybody asks for them."""
    for need in draft.quotas:
        quota = need.quota
        if need.beyond_default and quota.unit is not QuotaUnit.VCPU:
            unit = "" if quota.unit is QuotaUnit.COUNT else f" {quota.unit}"
            code = f" ({quota.service} {quota.code})" if quota.code else ""
            yield Observation(
                path="pools" if quota.service != "fsx" else "storage.lustre.capacityGib",
                sentence=f"the stack takes {need.need:g}{unit} of the quota {quota.name!r}{code}, which begins at "
                f"{quota.default:g}: {need.basis}",
                remedy=f"ask Service Quotas for {need.need:g} before the deployment, or take less",
                subject=quota.name,
                inputs={"need": f"{need.need:g}{unit}", "default": f"{quota.default:g}{unit}"},
            )
