"""All checks, one after the other. None stops another."""

from collections.abc import Callable, Iterable

from doctor import blocks, file, hardware, identity, quotas, sources, standing, versions
from doctor.account import AbsentError, Account, UnansweredError
from doctor.case import Case
from doctor.results import Result, Status

Check = Callable[[Case, Account], Iterable[Result]]

CHECKS: dict[str, Check] = {
    "account": identity.caller,
    "zone": hardware.zones,
    "instance": hardware.instance_facts,
    "offering": hardware.offerings,
    "quota": quotas.quota_room,
    "capacity-block": blocks.capacity_blocks,
    "kubernetes": versions.kubernetes,
    "image": versions.images,
    "source": sources.buckets,
    "addresses": standing.addresses,
    "file-system": standing.file_system,
}
"""By the id that their results carry."""

OF_THE_FILE: dict[str, Callable[[Case], Iterable[Result]]] = {
    "placeholder": file.values,
    "caller": file.caller,
    "registry": file.images,
}
"""Those that ask the account nothing, by the same."""


def examine(case: Case, account: Account) -> tuple[Result, ...]:
    """What every check says, in order."""
    of_the_file = [result for look in OF_THE_FILE.values() for result in look(case)]
    return (*of_the_file, *(result for check in CHECKS for result in run(check, case, account)))


def run(check: str, case: Case, account: Account) -> Iterable[Result]:
    """The results of a check; a question without an answer becomes one of them."""

    def unknown(sentence: str, remedy: str) -> Result:
        return Result(check=check, status=Status.UNKNOWN, subject=case.region, sentence=sentence, remedy=remedy)

    try:
        yield from CHECKS[check](case, account)
    except UnansweredError as silence:
        yield unknown(silence.sentence, silence.remedy)
    except AbsentError as absence:
        yield unknown(str(absence), "run it again: it went away in between")
    except (AttributeError, LookupError, TypeError) as error:
        yield unknown(f"AWS' answer lacks something ({type(error).__name__}: {error})", "report it with the AWS answer")
