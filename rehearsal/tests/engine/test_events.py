"""Event logs recorded from the engine (v3.259.0) become typed results."""

from collections import Counter
from pathlib import Path

import pytest

from rehearsal.engine.events import Diagnostic, Record, Step, Urn, read, registered, short_type

LOGS = Path(__file__).parent / "logs"
ITEM = "drawer:index:Item"
COMPONENT = "gpucluster:index:C"


def test_an_update_lists_what_it_did() -> None:
    record = read(LOGS / "up.jsonl")
    assert record.outcome == "succeeded"
    assert record.changes == {"create": 1, "delete": 2, "same": 3}
    assert record.operations() == [
        ("create", ITEM, "c0-b"),
        ("delete", COMPONENT, "c1"),
        ("delete", COMPONENT, "c2"),
    ]
    assert record.by_type()[ITEM] == Counter(same=1, create=1)
    assert not record.running()


def test_a_preview_says_which_properties_differ() -> None:
    record = read(LOGS / "preview.jsonl")
    (step,) = [step for step in record.steps if step.op == "update"]
    assert (step.urn.name, step.paths, step.failed) == ("c0-a", ("text",), False)


def test_a_preview_says_what_the_program_wants() -> None:
    wanted = [inputs for token, inputs in registered(LOGS / "preview.jsonl") if token == ITEM]
    assert wanted
    assert all("text" in inputs for inputs in wanted)


def test_a_refresh_ends_as_what_it_found() -> None:
    record = read(LOGS / "refresh.jsonl")
    assert record.operations() == [("delete", ITEM, "c0-a")]
    assert not record.running()


def test_a_failed_step_is_told_with_its_resource() -> None:
    record = read(LOGS / "fail.jsonl")
    assert record.outcome == "failed"
    assert [str(error) for error in record.errors()] == [
        "drawer:Item c0-a: create drawer:index:Item c0-a: c0-A exists already",
        "update failed",
    ]
    assert record.operations() == []
    assert record.by_type()[ITEM] == Counter(failed=1)


def test_times_are_those_at_which_the_lines_came() -> None:
    record, seen = Record(), []
    for now, line in enumerate((LOGS / "up.jsonl").read_text().splitlines()):
        if (step := record.feed(line, float(now))) is not None:
            seen.append(step)
    (created,) = [step for step in record.steps if step.op == "create"]
    assert isinstance(created, Step)
    assert created.seconds == 1.0
    assert seen.count(created) == 2


def test_a_torn_last_line_is_not_read(tmp_path: Path) -> None:
    whole = (LOGS / "up.jsonl").read_text()
    torn = tmp_path / "events"
    torn.write_text(whole[: len(whole) // 2])
    record = read(torn)
    assert record.outcome == ""
    assert record.steps


def test_program_output_is_kept_for_the_explanation() -> None:
    record = read(LOGS / "fail.jsonl")
    assert Diagnostic("info#err", "Traceback (most recent call last):") in record.diagnostics


@pytest.mark.parametrize(
    ("token", "short"),
    [
        ("aws:ec2/vpc:Vpc", "aws:ec2:Vpc"),
        ("kubernetes:apps/v1:Deployment", "apps/v1:Deployment"),
        ("kubernetes:helm.sh/v3:Release", "helm.sh/v3:Release"),
        ("gpucluster:index:Network", "gpucluster:Network"),
        ("pulumi:providers:aws", "pulumi:providers:aws"),
    ],
)
def test_types_as_people_say_them(token: str, short: str) -> None:
    assert short_type(token) == short


def test_a_urn_knows_its_type_and_a_name_with_colons() -> None:
    urn = Urn("urn:pulumi:dev::gpucluster::gpucluster:index:Storage$aws:s3/bucket:Bucket::a::b")
    assert (urn.type, urn.name) == ("aws:s3/bucket:Bucket", "a::b")
