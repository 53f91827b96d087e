"""Whom a controller must prove to be before it gets a password, and what is said of one that cannot be asked."""

import logging
from pathlib import Path

import pytest

from oob import access, reading
from oob.access import Controller, UnaskedError, opened
from oob.reading import read
from tests.oob.conftest import Emulated
from tests.oob.emulator import PASSWORD, SERIAL, SYSTEM, USER, certificates, dgx


def refused(controller: Controller, password: str = PASSWORD) -> UnaskedError:
    with pytest.raises(UnaskedError) as why, opened(controller, password) as root:
        read(root)
    assert why.value.remedy
    return why.value


def test_a_certificate_is_known_by_its_fingerprint_or_by_who_signed_it(emulated: Emulated) -> None:
    one = emulated(**dgx())
    for known in (one.controller(), one.controller(fingerprint=None, authority=one.certificates.authority)):
        with opened(known, PASSWORD) as root:
            assert read(root).serials == (SERIAL,)


def test_a_strange_certificate_gets_no_request_at_all(emulated: Emulated, tmp_path: Path) -> None:
    one, other = emulated(), certificates(tmp_path)
    assert "differs from bmcFingerprints" in str(refused(one.controller(fingerprint=other.fingerprint)))
    foreign = one.controller(fingerprint=None, authority=other.authority)
    assert "not signed by inventory.controllers.authority" in str(refused(foreign))
    authority = one.certificates.authority
    elsewhere = one.controller(address="localhost", fingerprint=None, authority=authority)
    assert "for this address" in str(refused(elsewhere))
    assert "does not say which certificate" in str(refused(one.controller(fingerprint=None)))
    assert one.requests() == []


def test_nothing_of_the_environment_stands_between(emulated: Emulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would be given the password, and another bundle of authorities would be believed."""
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nonexistent")
    one = emulated(**dgx())
    with opened(one.controller(), PASSWORD) as root:
        assert read(root).model == "DGXH100"


@pytest.mark.parametrize("sessions", [False, True])
def test_a_wrong_password_is_tried_once(emulated: Emulated, sessions: bool) -> None:
    one = emulated(**dgx(), sessions=sessions)
    assert str(refused(one.controller(), "wrong")) == f"it refuses {USER} with this password"
    asked = [path for method, path, _ in one.requests() if path != "/redfish/v1"]
    assert len(asked) == 1, asked


def test_a_session_is_ended(emulated: Emulated) -> None:
    """Controllers have room for a few."""
    one = emulated(**dgx(), sessions=True)
    with opened(one.controller(), PASSWORD) as root:
        assert read(root).serials == (SERIAL,)
    sessions = [(method, path) for method, path, _ in one.requests() if "Sessions" in path]
    service = "/redfish/v1/SessionService/Sessions"
    assert sessions == [("POST", service), ("DELETE", f"{service}/1")]


@pytest.mark.parametrize("sessions", [False, True])
def test_the_password_is_in_no_log(emulated: Emulated, caplog: pytest.LogCaptureFixture, sessions: bool) -> None:
    caplog.set_level(logging.DEBUG)
    one = emulated(**dgx(), sessions=sessions)
    with opened(one.controller(), PASSWORD) as root:
        read(root)
    assert "Redfish" in caplog.text or "redfish" in caplog.text
    assert PASSWORD not in caplog.text


def test_one_that_is_away_or_slow_is_told(emulated: Emulated, monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(refused(emulated().controller(port=1))) == "it does not answer"
    monkeypatch.setattr(access, "REQUEST_SECONDS", 1)
    assert "did not answer a question within 1 s" in str(refused(emulated(slow={SYSTEM: 3}).controller()))
    monkeypatch.setattr(reading, "ALL_SECONDS", -1)
    assert "had not finished answering" in str(refused(emulated().controller()))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"status": {SYSTEM: 500}}, "answers with status 500"),
        ({"status": {"/redfish/v1": 404}}, "answers with status 404"),
        ({"without": {"/redfish/v1": ["Systems"]}}, "it has no systems"),
        ({"documents": {"/redfish/v1/Systems": {"Members": []}}}, "reports no data about its machine"),
    ],
)
def test_an_answer_that_is_none_is_told(emulated: Emulated, told: dict[str, object], words: str) -> None:
    assert words in str(refused(emulated(**told).controller()))
