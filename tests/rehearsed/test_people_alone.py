"""People at the pages' door, asked by the real Traefik and the real oauth2-proxy (people_site.py)."""

import contextlib
import json
import ssl
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from rehearsal.images.oidc.tokens import SigningKey
from rehearsal.tests.inside.account import until
from tests.rehearsed.browser import Browser, Seen
from tests.rehearsed.people_site import HOSTS, Site
from tests.stacks.test_people import ISSUER

pytestmark = pytest.mark.engine

FORGED = {
    "X-Auth-Request-User": "subject-of-grace",
    "X-Auth-Request-Email": "grace@example.com",
    "X-Auth-Request-Groups": "ml-admins",
    "X-Forwarded-User": "grace",
    "X-Webauth-User": "admin",
    "X-Page-Role": "Admin",
    "kubeflow-userid": "grace@example.com",
    "Authorization": "Basic YWRtaW46YWRtaW4=",
}


def opened(site: Site) -> bool:
    """Whether every page has its certificate and its question."""
    with contextlib.suppress(ssl.SSLError):
        return {site.browser().ask(page(name)).status for name in HOSTS} == {302}
    return False


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("people"))
    try:
        until(lambda: made.gateway.listens(8443, 0.0), 30, "Traefik listens")
        until(lambda: opened(made), 30, "Traefik has the certificates, and has seen the routes")
        yield made
    finally:
        made.close()


def page(name: str, path: str = "/") -> str:
    return f"https://{HOSTS[name]}{path}"


def signed_in(site: Site, who: str, at: str, browser: Browser | None = None) -> tuple[Browser, Seen]:
    """The browser of somebody who asked for a page and said at the issuer who they are, and what they saw then."""
    browser = browser or site.browser()
    asked = browser.ask(page(at, "/d/gpu?var=1"))
    assert asked.status == 302, asked
    return browser, browser.follow(f"{asked.location}&login_hint={who}")


def told(seen: Seen) -> dict[str, str]:
    """The headers that a page was asked with."""
    assert seen.status == 200, seen
    found: dict[str, str] = json.loads(seen.text)["headers"]
    return found


def test_who_has_no_session_is_sent_to_the_issuer(site: Site) -> None:
    """PF05: by OpenID Connect, with the real proxy."""
    seen = site.browser().ask(page("grafana", "/d/gpu"))
    place, _, query = seen.location.partition("?")
    asked = {name: each[0] for name, each in parse_qs(query).items()}
    assert (seen.status, place) == (302, f"{ISSUER}/authorize")
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert asked["client_id"] == "gpucluster"
    assert asked["redirect_uri"] == page("grafana", "/oauth2/callback")
    assert asked["nonce"]
    assert "secret-for-tests" not in seen.location
    for line in seen.cookies:
        words = {word.strip().partition("=")[0].lower() for word in line.split(";")}
        assert line.startswith("__Host-people")
        assert {"secure", "httponly", "samesite", "path"} <= words
        assert "domain" not in words


@pytest.mark.parametrize(
    ("name", "path", "accept"),
    [
        ("grafana", "/api/dashboards/home", "*/*"),
        ("mlflow", "/ajax-api/2.0/mlflow/runs/search", "*/*"),
        ("pipelines", "/apis/v2beta1/runs", "*/*"),
        ("pipelines", "/", "application/json"),
    ],
)
def test_programs_of_a_page_are_told_401_and_not_sent_anywhere(site: Site, name: str, path: str, accept: str) -> None:
    seen = site.browser().ask(page(name, path), {"Accept": accept})
    assert (seen.status, seen.cookies) == (401, ())


def test_who_is_of_a_group_sees_the_page_that_they_asked_for(site: Site) -> None:
    """The page is told who it is, and gets neither their session nor a token."""
    browser, seen = signed_in(site, "ada", "grafana")
    headers = told(seen)
    assert json.loads(seen.text)["path"] == "/d/gpu"
    assert (headers["x-auth-request-user"], headers["x-auth-request-email"]) == ("subject-of-ada", "ada@example.com")
    assert headers["x-auth-request-preferred-username"] == "ada"
    assert headers["x-page-role"] == "Viewer"
    assert {"cookie", "authorization", "x-auth-request-access-token"}.isdisjoint(headers)
    assert told(browser.ask(page("grafana", "/api/search")))["x-auth-request-user"] == "subject-of-ada"


def test_admins_have_a_door_of_their_own(site: Site) -> None:
    _, seen = signed_in(site, "grace", "grafana-admin")
    headers = told(seen)
    assert (headers["x-page-role"], headers["x-auth-request-user"]) == ("Admin", "subject-of-grace")


def test_who_is_of_another_group_is_403_though_signed_in(site: Site) -> None:
    browser, seen = signed_in(site, "ada", "grafana-admin")
    assert seen.status == 403
    assert any(name == "__Host-people" for name in browser.cookies[HOSTS["grafana-admin"]])
    assert browser.ask(page("grafana-admin", "/api/users")).status == 403


def test_who_is_of_no_group_or_has_no_proven_mail_gets_no_session(site: Site) -> None:
    for who in ("eve", "bob"):
        browser, seen = signed_in(site, who, "grafana")
        assert seen.status == 403, who
        assert "__Host-people" not in browser.cookies[HOSTS["grafana"]]
        assert browser.ask(page("grafana")).status == 302


def test_a_session_is_of_one_hostname(site: Site) -> None:
    browser, _ = signed_in(site, "grace", "grafana")
    assert browser.ask(page("mlflow")).status == 302


@pytest.mark.parametrize("name", HOSTS)
def test_what_callers_say_of_themselves_opens_nothing(site: Site, name: str) -> None:
    assert site.browser().ask(page(name), FORGED).status == 302


def test_what_somebody_signed_in_says_of_themselves_is_not_believed(site: Site) -> None:
    browser, _ = signed_in(site, "ada", "grafana")
    headers = told(browser.ask(page("grafana"), FORGED))
    assert (headers["x-auth-request-user"], headers["x-auth-request-email"]) == ("subject-of-ada", "ada@example.com")
    assert headers["x-page-role"] == "Viewer"
    assert {"authorization", "x-webauth-user", "x-forwarded-user", "kubeflow-userid"}.isdisjoint(headers)


def test_a_page_that_knows_no_roles_is_told_nobodys_name(site: Site) -> None:
    browser, _ = signed_in(site, "ada", "mlflow")
    headers = told(browser.ask(page("mlflow"), FORGED))
    assert not [name for name in headers if name.startswith("x-auth-request") or "userid" in name or "role" in name]
    assert {"cookie", "authorization"}.isdisjoint(headers)


def test_nobody_is_led_elsewhere_by_what_callers_say_of_the_way(site: Site) -> None:
    """Neither to another host's callback, nor after signing in."""
    lies = {"X-Forwarded-Host": "evil.example.com", "X-Auth-Request-Redirect": "https://evil.example.com/"}
    lies |= {"X-Forwarded-Uri": "https://evil.example.com/", "X-Forwarded-Proto": "http"}
    browser = site.browser()
    asked = browser.ask(page("grafana", "/?rd=https://evil.example.com/"), lies)
    assert parse_qs(urlsplit(asked.location).query)["redirect_uri"] == [page("grafana", "/oauth2/callback")]
    back = browser.ask(f"{asked.location}&login_hint=ada")
    after = browser.ask(back.location, lies)
    assert (after.status, urlsplit(after.location).netloc) == (302, HOSTS["grafana"])


def test_a_code_is_of_the_browser_that_asked_for_it_and_is_good_once(site: Site) -> None:
    browser, other = site.browser(), site.browser()
    asked = browser.ask(page("grafana"))
    back = browser.ask(f"{asked.location}&login_hint=ada").location
    assert other.ask(back).status == 403, "it did not ask"
    jar = dict(browser.cookies[HOSTS["grafana"]])
    assert browser.ask(back).status == 302
    assert told(browser.ask(page("grafana")))["x-auth-request-user"] == "subject-of-ada"
    other.cookies[HOSTS["grafana"]] = jar
    assert other.ask(back).status == 500, "the issuer has redeemed it"
    assert other.ask(page("grafana")).status == 302


def test_a_changed_cookie_is_none(site: Site) -> None:
    browser, _ = signed_in(site, "ada", "grafana")
    jar = browser.cookies[HOSTS["grafana"]]
    value = jar["__Host-people"]
    seal = value[:-10] + ("A" if value[-10] != "A" else "B") + value[-9:]
    for changed in (seal, "A" + value[1:], value.partition("|")[0]):
        jar["__Host-people"] = changed
        assert browser.ask(page("grafana")).status == 302


def test_who_signs_out_is_asked_again(site: Site) -> None:
    browser, _ = signed_in(site, "ada", "grafana")
    assert browser.ask(page("grafana", "/oauth2/sign_out")).status == 302
    assert browser.ask(page("grafana")).status == 302


def test_the_rest_of_what_asks_people_is_not_reached_through_a_page(site: Site) -> None:
    """Its other paths are the page's own, behind the same question."""
    browser, _ = signed_in(site, "ada", "grafana")
    for path in ("/oauth2/auth", "/oauth2/userinfo", "/oauth2/start", "/ping", "/ready"):
        assert site.browser().ask(page("grafana", path)).status == 302
        assert json.loads(browser.ask(page("grafana", path)).text)["page"] == "kube-prometheus-stack-grafana"


def test_another_key_of_the_issuers_is_learnt_and_sessions_go_on(site: Site) -> None:
    browser, _ = signed_in(site, "ada", "grafana")
    site.login.issuer.rotate()
    assert told(signed_in(site, "grace", "grafana")[1])["x-auth-request-user"] == "subject-of-grace"
    assert told(browser.ask(page("grafana")))["x-auth-request-user"] == "subject-of-ada"


def test_a_token_of_a_key_that_is_not_the_issuers_is_refused(site: Site) -> None:
    browser = site.browser()
    asked = browser.ask(page("grafana"))
    back = browser.ask(f"{asked.location}&login_hint=ada").location
    site.login.issuer.rotate()
    site.login.issuer.shown = [SigningKey().public]
    try:
        assert browser.ask(back).status == 500
        assert "__Host-people" not in browser.cookies[HOSTS["grafana"]]
    finally:
        site.login.issuer.rotate()


def test_what_traefik_says_of_the_objects_is_that_it_takes_all_of_them(site: Site) -> None:
    names = [f"{name}{end}" for name in HOSTS for end in ("", "-plain")]
    until(lambda: set(names) <= set(site.served.told), 20, "what it found is written")
    routes = [each for name in names for each in site.served.told[name]["parents"]]
    found = [each for part in (*site.served.told["gateway"]["listeners"], *routes) for each in part["conditions"]]
    assert {each["status"] for each in found} == {"True"}, found


def test_a_session_ends_by_the_clock(site: Site) -> None:
    site.again(cookie_expire="3s")
    try:
        browser, seen = signed_in(site, "ada", "grafana")
        assert seen.status == 200
        kept = dict(browser.cookies[HOSTS["grafana"]])
        time.sleep(4)
        browser.cookies[HOSTS["grafana"]] = kept
        assert browser.ask(page("grafana")).status == 302
        assert browser.ask(page("grafana", "/api/search")).status == 401
    finally:
        site.again()


def test_a_session_outlives_its_pod_but_not_what_seals_it(site: Site) -> None:
    browser, _ = signed_in(site, "ada", "grafana")
    site.again()
    assert told(browser.ask(page("grafana")))["x-auth-request-user"] == "subject-of-ada"
    site.sealing = "another secret"
    site.again()
    assert browser.ask(page("grafana")).status == 302
