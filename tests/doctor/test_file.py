"""What the stack file alone says: placeholders, who calls, images (LF03)."""

from dataclasses import replace

import pytest

from catalogue import pins
from doctor import file
from doctor.case import Case
from doctor.results import Status
from tests.doctor.conftest import case

OWN = {"platform.publicAccessCidrs": ["80.81.82.0/24", "90.91.92.0/24"]}


def calling(address: str | None, **more: object) -> Case:
    return replace(case({**OWN, **more}), address=address)


def test_an_example_fails_with_every_placeholder_lf03() -> None:
    found = list(file.values(case()))
    assert {each.status for each in found} == {Status.FAIL}
    assert any(
        "gpucluster:serving.services[0].weights is in a bucket of documentation" in each.sentence for each in found
    )
    assert found[-1].subject == "gpucluster:example"


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("90.91.92.93", Status.OK, "90.91.92.0/24 is admitted"),
        ("80.81.83.1", Status.FAIL, "admits 80.81.82.0/24, 90.91.92.0/24 only"),
        (None, Status.UNKNOWN, "without your public address"),
    ],
)
def test_the_callers_address_lf03(address: str | None, status: Status, words: str) -> None:
    (found,) = file.caller(calling(address))
    assert (found.status, words in found.sentence) == (status, True)


def test_an_address_that_is_not_let_in_is_told_what_to_add_lf03() -> None:
    (found,) = file.caller(calling("80.81.83.1"))
    assert "add 80.81.83.1/32 to gpucluster:platform.publicAccessCidrs" in str(found.remedy)


def test_a_private_endpoint_is_no_matter_of_addresses() -> None:
    assert list(file.caller(replace(case({"platform.publicAccessCidrs": []}), address="80.81.83.1"))) == []


def test_registries_are_off_by_name_lf03() -> None:
    (found,) = file.images(case())
    assert found.status is Status.UNKNOWN
    assert found.sentence.startswith("off: registries were not queried for 2 images")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("sha256:1", Status.OK),
        (pins.RegistryError("answers 404 for x:1"), Status.FAIL),
        (pins.RegistryError("cannot be reached (no route)"), Status.UNKNOWN),
    ],
)
def test_registries_that_are_asked_lf03(
    answer: str | Exception, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(_: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(file, "digest", digest)
    found = list(file.images(replace(case(), registries=True)))
    assert [each.status for each in found] == [status, status]
    if status is Status.OK:
        assert "whether /workspace/train.py is in it" in found[0].sentence
