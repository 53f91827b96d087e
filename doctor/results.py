"""The result of a check."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """OK and WARN let a deployment go on, FAIL would stop it; UNKNOWN could not be asked."""

    FAIL = "fail"
    UNKNOWN = "unknown"
    WARN = "warn"
    OK = "ok"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One sentence about one subject. `remedy` says what to do, and is None where nothing is to be done."""

    check: str
    status: Status
    subject: str
    sentence: str
    remedy: str | None = None


def judged(check: str, subject: str, fine: str, wrong: Iterable[tuple[Status, str, str]]) -> Result:
    """One result of several observations (status, sentence, remedy): `fine` if there is none, else all in one."""
    seen = list(wrong)
    if not seen:
        return Result(check=check, status=Status.OK, subject=subject, sentence=fine)
    order = list(Status)
    return Result(
        check=check,
        status=min((status for status, _, _ in seen), key=order.index),
        subject=subject,
        sentence="; ".join(sentence for _, sentence, _ in seen),
        remedy="; ".join(dict.fromkeys(remedy for _, _, remedy in seen)),
    )
