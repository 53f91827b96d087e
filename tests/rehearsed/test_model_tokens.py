"""Models for who brings a token of the issuer's: the real nginx before a server, and the real oauth2-proxy that judges.

Arguments and rules are those that the stack registers; the issuer is the rehearsal's stand-in, which signs them.
"""

import base64
import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.images.oidc.tokens import SigningKey, encoded
from rehearsal.tests.inside.account import until
from tests.components import real_nginx
from tests.rehearsed.people_site import HOSTS, Site
from tests.rehearsed.test_people_alone import opened, page
from tests.stacks.test_people import ISSUER

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(real_nginx.NGINX is None, reason=real_nginx.WHY),
]

KEY, CLIENT, GROUP = "a-key-of-callers", "gpucluster", "callers"
Door = tuple[real_nginx.Upstream, int]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("tokens"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def door(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    found = site.backends.find("people", "oauth2-proxy-0", 4180)
    assert found is not None
    with real_nginx.running(tmp_path_factory.mktemp("door") / "etc", [KEY], groups=[GROUP], judge=found[1]) as running:
        yield running


def token(site: Site, key: SigningKey | None = None, **changes: Any) -> str:
    """A token of somebody of the group, with other claims; None leaves one out."""
    now = int(time.time())
    claims: dict[str, Any] = {"iss": ISSUER, "aud": CLIENT, "sub": "subject-of-carol", "email": "carol@example.com"}
    claims |= {"email_verified": True, "groups": [GROUP], "iat": now, "exp": now + 300, **changes}
    return (key or site.login.issuer._key).signed({name: each for name, each in claims.items() if each is not None})


def unsigned(site: Site) -> str:
    """The same claims, and the word of who sends them (RFC 7519, 6)."""
    head = encoded(json.dumps({"alg": "none", "typ": "JWT"}).encode())
    return f"{head}.{token(site).split('.')[1]}."


def test_a_token_of_a_member_lets_in_as_a_key_does(site: Site, door: Door) -> None:
    """The server behind sees neither. What has no mail is a program's, by its subject."""
    upstream, port = door
    upstream.asked.clear()
    for each in (KEY, token(site), token(site, email=None, email_verified=None), token(site, aud=[CLIENT, "other"])):
        assert real_nginx.asked(port, "/v1/completions", each, "POST")[::2] == (200, "/v1/completions")
    assert upstream.asked == [("/v1/completions", None)] * 4


def test_another_group_is_403(site: Site, door: Door) -> None:
    """`ml` has pages and no model."""
    for groups in (["ml"], ["ml", "Callers"]):
        status, kind, body = real_nginx.asked(door[1], "/v1/models", token(site, groups=groups))
        assert (status, kind, json.loads(body)["error"]["code"]) == (403, "application/json", "permission_denied")


def test_what_proves_nothing_is_401(site: Site, door: Door) -> None:
    now = int(time.time())
    whole = token(site)
    head, claims, seal = whole.split(".")
    forged = base64.urlsafe_b64encode(b'{"iss":"x"}').rstrip(b"=").decode()
    refused = {
        "nothing": None,
        "another key of callers": f"{KEY}x",
        "expired": token(site, iat=now - 900, exp=now - 600),
        "another audience": token(site, aud="another-client"),
        "another issuer": token(site, iss="https://evil.example.com"),
        "unsigned": unsigned(site),
        "a key that is not the issuer's": token(site, SigningKey()),
        "other claims under its seal": f"{head}.{forged}.{seal}",
        "a seal that is cut": f"{head}.{claims}.{seal[:-8]}",
        "of nobody's group": token(site, groups=[]),
    }
    found = {what: real_nginx.asked(door[1], "/v1/models", each) for what, each in refused.items()}
    assert {what: status for what, (status, *_) in found.items() if status != 401} in ({}, {"of nobody's group": 403})
    assert json.loads(found["expired"][2])["error"]["code"] == "invalid_api_key"


def test_no_other_path_opens_and_the_question_itself_is_nobodys(site: Site, door: Door) -> None:
    for path in ("/invocations", "/tokenize", "/.judge", "/v1/../.judge"):
        assert real_nginx.asked(door[1], path, token(site))[0] == 404
    assert real_nginx.asked(door[1], "/metrics", token(site))[0] == 401


def test_a_session_of_a_page_is_no_token(site: Site, door: Door) -> None:
    """Another site in a browser could ask with it."""
    connection = http.client.HTTPConnection("127.0.0.1", door[1], timeout=10)
    connection.request("GET", "/v1/models", headers={"Cookie": "__Host-people=anything"})
    assert connection.getresponse().status == 401
    connection.close()


def test_a_stream_comes_as_it_is_made(site: Site, door: Door) -> None:
    upstream, port = door
    upstream.more.clear()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/v1/stream", body=b"{}" * 100_000, headers={"Authorization": f"Bearer {token(site)}"})
    answer = connection.getresponse()
    assert answer.read1() == b"first "
    upstream.more.set()
    assert answer.read() == b"second"
    connection.close()


def test_pages_are_not_opened_by_a_token(site: Site) -> None:
    """The real Traefik takes the header away before it asks: a program that has one sees no page with it."""
    until(lambda: opened(site), 30, "Traefik has the certificates, and has seen the routes")
    for name in HOSTS:
        told = {"Authorization": f"Bearer {token(site, groups=[GROUP, 'ml', 'ml-admins'])}"}
        assert site.browser().ask(page(name), told).status == 302


def test_without_who_judges_a_key_still_lets_in(site: Site, door: Door) -> None:
    good = token(site)
    site.asking.close()
    try:
        assert real_nginx.asked(door[1], "/v1/models", KEY)[0] == 200
        assert real_nginx.asked(door[1], "/v1/models", good)[0] == 500
    finally:
        site.again()
