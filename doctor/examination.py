"""All checks, one after the other. None stops another."""

from collections.abc import Callable, Iterable, Sequence

from doctor import (
    blocks,
    certificates,
    file,
    hardware,
    identity,
    network,
    objects,
    quotas,
    reservations,
    sources,
    standing,
    versions,
)
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
    reservations.CHECK: reservations.held,
    "kubernetes": versions.kubernetes,
    "image": versions.images,
    versions.OWN: versions.own_images,
    "source": sources.buckets,
    objects.CHECK: objects.prefixes,
    network.CHECK: network.existing,
    certificates.CHECK: certificates.issuers,
    "addresses": standing.addresses,
    "file-system": standing.file_system,
    "home": standing.home,
}
"""By the id that their results carry."""

OF_THE_FILE: dict[str, Callable[[Case], Iterable[Result]]] = {
    "placeholder": file.values,
    "caller": file.caller,
    "registry": file.images,
}
"""Those that ask the account nothing, by the same."""


FAILED, SILENT = 1, 3
"""Exit codes: a check failed; the account answered nothing at all. 2 is wrong usage."""


def nothing_answered(results: Iterable[Result]) -> bool:
    """Whether no question to the account had an answer, so that nothing of it is known."""
    return all(result.status is Status.UNKNOWN for result in results if result.check in CHECKS)


def exit_code(results: Sequence[Result]) -> int:
    """0 if nothing failed. What could not be asked is no failure of the stack, unless it is everything."""
    if any(result.status is Status.FAIL for result in results):
        return FAILED
    return SILENT if nothing_answered(results) else 0


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
        yield unknown(str(absence), "run it again: it was deleted meanwhile")
    except (AttributeError, LookupError, TypeError) as error:
        yield unknown(f"AWS' answer is incomplete ({type(error).__name__}: {error})", "report it with the AWS answer")
