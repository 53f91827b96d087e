"""Which identity and account the credentials belong to."""

from collections.abc import Iterable

from doctor.account import Account
from doctor.case import Case
from doctor.results import Result, Status


def caller(case: Case, account: Account) -> Iterable[Result]:
    """The account is the one that the stack names."""
    told = account.get("sts", "GetCallerIdentity")
    wanted, found = case.settings.platform.account_id, told["Account"]
    sentence = f"{told['Arn']} asks"
    if wanted is None:
        sentence += ", and the stack may be deployed to any account; set platform.accountId to refuse others"
    elif wanted != found:
        yield Result(
            check="account",
            status=Status.FAIL,
            subject=found,
            sentence=f"{sentence} in account {found}, and the stack belongs to {wanted}",
            remedy="use a profile of that account, or correct gpucluster:platform.accountId",
        )
        return
    yield Result(check="account", status=Status.OK, subject=found, sentence=sentence)
