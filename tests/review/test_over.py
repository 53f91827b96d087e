"""Whether a lab's end has come, as its keeper reads it: what `pulumi destroy` is run by (Z15)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from review.over import main, over
from settings.model import Settings
from tests.planner.stacks import changed
from tests.sweep.test_extend import Told

NOW = datetime(2026, 11, 23, 16, tzinfo=UTC)
PASSED, TO_COME = "2026-11-23T15:59:00Z", "2026-11-23T18:00:00Z"


def lab(**more: Any) -> Settings:
    """The committed lab, which ends at 16:00 of that day by its file."""
    return changed("lab", {"keeper": {"endsAt": "2026-11-23T16:00Z"}, **more})


class Nobody:
    """An account without the keeper, or one that answers with another error."""

    def __init__(self, code: str = "ResourceNotFoundException") -> None:
        self._code = code

    def pages(self, service: str, operation: str, **request: Any) -> Any:
        raise AssertionError(f"{service} {operation} {request}")

    def call(self, service: str, operation: str, **request: Any) -> Any:  # noqa: ARG002 - as the protocol has it
        raise ClientError({"Error": {"Code": self._code, "Message": "no"}}, operation)


def ended(account: Any, settings: Settings | None = None, now: datetime = NOW) -> bool:
    return over(settings or lab(), account, "gpucluster", "lab", now)[0]


def test_the_end_in_the_account_counts_whatever_the_file_says() -> None:
    """16:00 by the file: an extended lab is not over at 16:00, and one that ended earlier is at 15:59."""
    assert ended(Told(PASSED, "{}"))
    assert not ended(Told(TO_COME, "{}"))
    assert ended(Told(TO_COME, "{}"), now=datetime(2026, 11, 23, 18, tzinfo=UTC))
    assert ended(Told(PASSED, "{}"), now=datetime(2026, 11, 23, 15, 59, tzinfo=UTC))
    assert not ended(Told(PASSED, "{}"), now=datetime(2026, 11, 23, 15, 58, tzinfo=UTC))


def test_a_lab_that_its_money_ended_is_over() -> None:
    assert ended(Told(TO_COME, '{"stopped": "AWS Budgets"}'))
    assert ended(Told("never", '{"stopped": "AWS Budgets"}'))
    assert not ended(Told("never", "{}"))


def test_without_a_keeper_in_the_account_the_files_end_counts() -> None:
    assert ended(Nobody())
    assert ended(Nobody("ParameterNotFound"))
    assert not ended(Nobody(), now=datetime(2026, 11, 23, 15, 59, tzinfo=UTC))
    why = "it has no keeper in the account, and ends at 2026-11-23 16:00 UTC by its file"
    assert over(lab(), Nobody(), "gpucluster", "lab", NOW) == (True, why)


@pytest.mark.parametrize(
    "settings",
    [
        changed("prod", {}),
        changed("metal", {}),
        changed("lab", {"keeper": None}),
        changed("lab", {"lifecycle.protect": True, "lifecycle.expiry": None}),
    ],
    ids=["protected", "racks", "without a keeper", "a lab that is protected"],
)
def test_what_is_meant_to_last_is_never_over(settings: Settings) -> None:
    """Even where the account says that its end has passed."""
    assert not ended(Told(PASSED, '{"stopped": "AWS Budgets"}'), settings)
    assert not ended(Nobody(), settings)


@pytest.mark.parametrize("account", [Nobody("AccessDeniedException"), Told("soon", "{}")], ids=["denied", "unreadable"])
def test_what_cannot_be_said_is_no_answer(
    account: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--stack", "lab"], account=account, now=NOW) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("it cannot be said whether lab is over: ")
    monkeypatch.chdir(tmp_path)
    assert main(["--stack", "lab"], account=Told(PASSED, "{}"), now=NOW) == 2


def test_the_answer_is_one_word(capsys: pytest.CaptureFixture[str]) -> None:
    """And why on the other channel: the lab's own file, whose end is years away, extended or not."""
    assert main(["--stack", "lab"], account=Told(PASSED, "{}"), now=NOW) == 0
    assert capsys.readouterr() == ("true\n", "lab: it ends at 2026-11-23 15:59 UTC\n")
    assert main(["--stack", "lab"], account=Told(TO_COME, "{}"), now=NOW) == 0
    assert capsys.readouterr().out == "false\n"
