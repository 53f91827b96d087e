"""A connection to a management controller: how its certificate is verified, and which account is used.

A password goes to a controller only after its certificate was compared, and is tried once: controllers lock an account
or an address out after a few that are wrong.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import sushy
from requests.adapters import HTTPAdapter
from sushy import exceptions
from sushy.auth import BasicAuth, SessionAuth
from sushy.connector import Connector

from redfish import ROOT

CONNECT_SECONDS, REQUEST_SECONDS, ALL_SECONDS = 5, 20, 90
"""For a connection, for one answer, and for all that is asked of one controller."""


class UnaskedError(Exception):
    """A controller that could not be asked, and why; `remedy` says what to do."""

    def __init__(self, sentence: str, remedy: str) -> None:
        super().__init__(sentence)
        self.remedy = remedy


@dataclass(frozen=True, kw_only=True)
class Controller:
    """Where a controller answers and who asks. `fingerprint` is the SHA-256 of its certificate; without one the
    certificate must name the address and be signed by `authority`, a certificate as PEM.
    """

    address: str
    user: str
    port: int = 443
    fingerprint: str | None = None
    authority: str | None = None


class _Pinned(HTTPAdapter):  # type: ignore[misc]
    """Takes the one certificate with this fingerprint, whoever signed it."""

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        super().__init__()

    def init_poolmanager(self, *words: Any, **named: Any) -> None:
        super().init_poolmanager(*words, assert_fingerprint=self._fingerprint, **named)


@contextmanager
def opened(controller: Controller, password: str) -> Iterator[Any]:
    """The service's root (sushy.Sushy) while it is open; a session at the controller is ended behind it.

    Raises UnaskedError, from what is done inside as well.
    """
    if controller.fingerprint is None and controller.authority is None:
        raise UnaskedError(
            "the stack file does not say which certificate it has",
            "name bmcFingerprints, or inventory.controllers.authority",
        )
    with tempfile.TemporaryDirectory(prefix="authority-") as directory:
        connector = _connector(controller, Path(directory))
        try:
            with _told(controller):
                auth = _auth(connector, controller.user, password)
                root = sushy.Sushy(_url(controller), connector=connector, auth=auth)
                try:
                    yield root
                finally:
                    auth.close()
        finally:
            connector.close()


def _url(controller: Controller) -> str:
    return f"https://{controller.address}:{controller.port}"


def _connector(controller: Controller, directory: Path) -> Connector:
    verify: bool | str = False
    if controller.fingerprint is None:
        trusted = directory / "authority.pem"
        trusted.write_text(controller.authority or "", encoding="ascii")
        verify = str(trusted)
    # One attempt: a power cycle whose answer is late would be sent again.
    made = Connector(
        _url(controller),
        verify=verify,
        server_side_retries=1,
        server_side_retries_delay=1,
        default_request_timeout=REQUEST_SECONDS,
        connect_timeout=CONNECT_SECONDS,
    )
    session = made._session
    # Neither a proxy, nor ~/.netrc, nor authorities that the environment names.
    session.trust_env = False
    if controller.fingerprint is not None:
        session.mount("https://", _Pinned(controller.fingerprint))
    return made


def _auth(connector: Connector, user: str, password: str) -> Any:
    """By a session where the service offers them, else with each request (DSP0266, "Authentication"); the root is
    open to all, so this asks nothing with the password.
    """
    links = connector.get(ROOT).json().get("Links")
    sessions = isinstance(links, dict) and isinstance(links.get("Sessions"), dict)
    return (SessionAuth if sessions else BasicAuth)(user, password)


@contextmanager
def _told(controller: Controller) -> Iterator[None]:
    """What the libraries raise, in sentences."""
    reach = "check that it has power and that this machine can reach its network"
    try:
        yield
    except exceptions.AccessError:
        sentence = f"it refuses {controller.user} with this password"
        raise UnaskedError(
            sentence, "correct inventory.controllers.user or BMC_PASSWORD before it locks you out"
        ) from None
    except exceptions.ConnectionError as why:
        cause = why.__context__
        if isinstance(cause, requests.exceptions.SSLError):
            raise UnaskedError(*_stranger(controller)) from None
        if isinstance(cause, requests.exceptions.ReadTimeout):
            raise UnaskedError(f"it did not answer a question within {REQUEST_SECONDS} s", "reset it") from None
        raise UnaskedError("it does not answer", reach) from None
    except exceptions.HTTPError as why:
        raise UnaskedError(f"it answers with status {why.status_code}", "see its own log, or reset it") from None
    except (exceptions.SushyError, requests.exceptions.RequestException, AttributeError) as why:
        sentence = f"it does not speak proper Redfish ({type(why).__name__})"
        raise UnaskedError(sentence, "check whether the address is a controller's, and update its firmware") from None


def _stranger(controller: Controller) -> tuple[str, str]:
    shown = f"openssl s_client -connect {controller.address}:{controller.port} </dev/null | openssl x509"
    if controller.fingerprint is not None:
        return (
            "its certificate differs from bmcFingerprints",
            f"compare `{shown} -noout -fingerprint -sha256` with its console, then correct bmcFingerprints",
        )
    return (
        "its certificate is not signed by inventory.controllers.authority for this address",
        f"look at it with `{shown} -noout -text`: the address must be among its alternative names",
    )
