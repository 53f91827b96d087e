"""What the stack copies: that something lies below each address of weights and datasets."""

from collections.abc import Iterable, Iterator

from doctor.account import AbsentError, Account, UnansweredError
from doctor.case import Case
from doctor.results import Result, Status

CHECK = "objects"
_SCHEME = "s3://"


def prefixes(case: Case, account: Account) -> Iterable[Result]:
    """Each address that a copier will read has an object: an empty one is found out when GPUs are paid for."""
    for address, where in _addresses(case):
        yield _asked(case, account, address, where)


def _addresses(case: Case) -> Iterator[tuple[str, str]]:
    """Addresses in buckets, each once, with the keys of the stack file that name it first."""
    named: dict[str, str] = {}
    for name, service in case.plan.services.items():
        named.setdefault(service.weights, f"weights of service {name}")
    for name, dataset in case.plan.datasets.items():
        named.setdefault(dataset.source or "", f"dataset {name}")
    yield from ((address, where) for address, where in named.items() if address.startswith(_SCHEME))


def _asked(case: Case, account: Account, address: str, where: str) -> Result:
    def told(status: Status, sentence: str, remedy: str | None = None) -> Result:
        return Result(check=CHECK, status=status, subject=address, sentence=sentence, remedy=remedy)

    bucket, _, path = address.removeprefix(_SCHEME).partition("/")
    request = {"Bucket": bucket, "Prefix": path.rstrip("/") + "/", "MaxKeys": 1}
    source = case.plan.sources.get(bucket)
    if source and source.owner:
        request["ExpectedBucketOwner"] = source.owner
    try:
        answer = account.get("s3", "ListObjectsV2", **request)
    except AbsentError:
        return told(Status.FAIL, f"its bucket does not exist ({where})", "make it, or correct the address")
    except UnansweredError as silence:
        return told(Status.UNKNOWN, silence.sentence, silence.remedy)
    if answer.get("KeyCount"):
        return told(Status.OK, f"holds objects ({where})")
    remedy = f"upload them (aws s3 sync DIRECTORY {address.rstrip('/')}/), or correct the address"
    return told(Status.FAIL, f"holds no object ({where}): the copy would fail when the cluster stands", remedy)
