"""Service quotas of the account: what they allow, what others hold of them, what the stack needs."""

from collections.abc import Iterable

from catalogue.quotas import INSTANCE_QUOTAS, Quota, QuotaUnit
from catalogue.types import UsageClass
from doctor.account import AbsentError, Account, UnansweredError
from doctor.case import Case
from doctor.results import Result, Status, judged
from doctor.use import taken
from planner.procurement import QuotaNeed


def quota_room(case: Case, account: Account) -> Iterable[Result]:
    """Each quota has room for the stack beside what is there. Those of blocks count when a block is bought."""
    bought = list(INSTANCE_QUOTAS[UsageClass.CAPACITY_BLOCK].values())
    for need in case.plan.quotas:
        if need.quota in bought:
            continue
        try:
            yield _one(need, case, account)
        except UnansweredError as silence:
            yield _unknown(need, silence.sentence, silence.remedy)


def _one(need: QuotaNeed, case: Case, account: Account) -> Result:
    quota = need.quota
    if quota.code is None:
        remedy = "look it up under its name in the console's Service Quotas page"
        return _unknown(need, f"{_amount(need.need, quota)} are needed; no page names the quota's code", remedy)
    allowed = _allowed(quota.service, quota.code, account)
    needed = f"{_amount(need.need, quota)} needed ({need.basis}), {_amount(allowed, quota)} allowed"
    try:
        held = taken(quota, case, account)
    except UnansweredError as silence:
        if need.need <= allowed:
            return _unknown(need, f"{needed}; what others hold is unknown: {silence.sentence}", silence.remedy)
        held = 0
    wanted = need.need + held
    sentence = f"{needed}, {_amount(held, quota)} held by others"
    request = (
        f"request {wanted:g}: aws service-quotas request-service-quota-increase --region {case.region} "
        f"--service-code {quota.service} --quota-code {quota.code} --desired-value {wanted:g}"
    )
    return judged("quota", quota.name, sentence, [(Status.FAIL, sentence, request)] if wanted > allowed else ())


def _allowed(service: str, code: str, account: Account) -> float:
    """The value that holds, or the default where Service Quotas has no other."""
    request = {"ServiceCode": service, "QuotaCode": code}
    try:
        quota = account.get("service-quotas", "GetServiceQuota", **request)["Quota"]
    except AbsentError:
        try:
            quota = account.get("service-quotas", "GetAWSDefaultServiceQuota", **request)["Quota"]
        except AbsentError:
            remedy = "look the quota up under its name in the console, and correct its code in catalogue/quotas.py"
            raise UnansweredError(f"Service Quotas has no {code} of {service}", remedy) from None
    return float(quota["Value"])


def _unknown(need: QuotaNeed, sentence: str, remedy: str) -> Result:
    return Result(check="quota", status=Status.UNKNOWN, subject=need.quota.name, sentence=sentence, remedy=remedy)


def _amount(value: float, quota: Quota) -> str:
    unit = "" if quota.unit is QuotaUnit.COUNT else f" {quota.unit}"
    return f"{round(value, 2):,g}{unit}" if value != int(value) else f"{int(value):,}{unit}"
