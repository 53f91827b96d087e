"""The stand-in for an issuer of OpenID Connect, as its specifications have it, and the image that asks it."""

import base64
import hashlib
import http.client
import json
import socket
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from rehearsal.images.oidc import proxy
from rehearsal.images.oidc.issuer import Issuer, Person, Reply
from rehearsal.images.oidc.listening import Listening
from rehearsal.images.table import known
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import LaunchError, Mount
from rehearsal.tests.inside.simulated import Node

URL = "https://login.example.com/realms/ml"
BACK = "https://grafana.example.com/oauth2/callback"
ADA = Person("subject-of-ada", "ada", "ada@example.com", ("ml",))
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
ASKED = {
    "client_id": "gpucluster",
    "redirect_uri": BACK,
    "response_type": "code",
    "scope": "openid email",
    "state": "s-1",
    "nonce": "n-1",
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "login_hint": "ada",
}


@pytest.fixture
def issuer() -> Issuer:
    return Issuer(URL, [ADA], {"gpucluster": {"its secret"}}, [BACK])


def authorised(issuer: Issuer, **changed: str) -> Reply:
    query = urlencode({key: value for key, value in {**ASKED, **changed}.items() if value})
    return issuer.answer("GET", f"/realms/ml/authorize?{query}", {}, b"")


def sent_back(reply: Reply) -> dict[str, str]:
    assert reply.status == 302
    return {name: values[0] for name, values in parse_qs(urlsplit(reply.location).query).items()}


def redeemed(issuer: Issuer, code: str, key: str = "its secret", **changed: str) -> tuple[int, dict[str, Any]]:
    asked = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
    said = base64.b64encode(f"gpucluster:{quote(key)}".encode()).decode()
    body = urlencode({**asked, **changed}).encode()
    reply = issuer.answer("POST", "/realms/ml/token", {"authorization": f"Basic {said}"}, body)
    return reply.status, json.loads(reply.content)


def part(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def claims(issuer: Issuer, token: str) -> dict[str, Any]:
    """The claims of a token that one of the issuer's keys has signed. Raises InvalidSignature, LookupError."""
    head, body, signature = token.split(".")
    keys = json.loads(issuer.answer("GET", "/realms/ml/keys", {}, b"").content)["keys"]
    (key,) = [each for each in keys if each["kid"] == json.loads(part(head))["kid"]] or [None]
    if key is None:
        raise LookupError(head)
    numbers = (int.from_bytes(part(key[name]), "big") for name in ("e", "n"))
    public = rsa.RSAPublicNumbers(*numbers).public_key()
    public.verify(part(signature), f"{head}.{body}".encode(), padding.PKCS1v15(), hashes.SHA256())
    found: dict[str, Any] = json.loads(part(body))
    return found


def test_the_document_is_where_discovery_looks_and_names_its_issuer(issuer: Issuer) -> None:
    found = json.loads(issuer.answer("GET", "/realms/ml/.well-known/openid-configuration", {}, b"").content)
    assert found["issuer"] == URL
    assert {found[f"{each}_endpoint"].startswith(URL) for each in ("authorization", "token", "userinfo")} == {True}
    assert issuer.answer("GET", "/.well-known/openid-configuration", {}, b"").status == 404


def test_a_code_is_redeemed_for_a_token_of_the_person(issuer: Issuer) -> None:
    back = sent_back(authorised(issuer))
    assert back["state"] == "s-1"
    status, given = redeemed(issuer, back["code"])
    assert (status, given["token_type"]) == (200, "Bearer")
    found = claims(issuer, given["id_token"])
    assert (found["iss"], found["aud"], found["sub"], found["nonce"]) == (URL, "gpucluster", "subject-of-ada", "n-1")
    assert (found["groups"], found["email_verified"]) == (["ml"], True)
    assert found["exp"] - found["iat"] == 300
    told = issuer.answer("GET", "/realms/ml/userinfo", {"authorization": f"Bearer {given['access_token']}"}, b"")
    assert json.loads(told.content)["sub"] == "subject-of-ada"
    assert issuer.answer("GET", "/realms/ml/userinfo", {"authorization": "Bearer other"}, b"").status == 401


@pytest.mark.parametrize(
    "changed",
    [{"code": "another"}, {"redirect_uri": "https://evil.example.com/"}, {"code_verifier": "w" * 64}],
    ids=["a code of nobody", "another address", "another verifier"],
)
def test_a_code_of_somebody_else_is_not_redeemed(issuer: Issuer, changed: dict[str, str]) -> None:
    code = sent_back(authorised(issuer))["code"]
    assert redeemed(issuer, **{"code": code, **changed}) == (400, {"error": "invalid_grant"})


def test_a_code_is_good_once_and_not_for_long(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    code = sent_back(authorised(issuer))["code"]
    assert redeemed(issuer, code)[0] == 200
    assert redeemed(issuer, code) == (400, {"error": "invalid_grant"})
    monkeypatch.setattr("rehearsal.images.oidc.issuer.CODE_SECONDS", -1.0)
    assert redeemed(issuer, sent_back(authorised(issuer))["code"])[0] == 400


def test_a_client_says_its_secret(issuer: Issuer) -> None:
    code = sent_back(authorised(issuer))["code"]
    assert redeemed(issuer, code, key="guessed") == (401, {"error": "invalid_client"})
    body = {"client_id": "gpucluster", "client_secret": "its secret", "grant_type": "authorization_code", "code": code}
    form = urlencode({**body, "redirect_uri": BACK, "code_verifier": VERIFIER}).encode()
    assert issuer.answer("POST", "/realms/ml/token", {}, form).status == 200


def test_nobody_is_sent_to_an_address_that_is_not_the_clients(issuer: Issuer) -> None:
    for changed in ({"redirect_uri": "https://evil.example.com/oauth2/callback"}, {"client_id": "another"}):
        reply = authorised(issuer, **changed)
        assert (reply.status, reply.location) == (400, "")


@pytest.mark.parametrize(
    "changed", [{"response_type": "token"}, {"scope": "email"}, {"code_challenge_method": "plain"}]
)
def test_a_request_of_another_kind_is_sent_back_with_its_error(issuer: Issuer, changed: dict[str, str]) -> None:
    back = sent_back(authorised(issuer, **changed))
    assert (back["error"], back["state"], "code" in back) == ("invalid_request", "s-1", False)


def test_who_says_no_name_is_shown_whom_it_knows(issuer: Issuer) -> None:
    shown = authorised(issuer, login_hint="")
    assert shown.status == 200
    assert "login_hint=ada" in shown.content
    assert authorised(issuer, login_hint="nobody").status == 200


def test_another_key_signs_and_the_one_before_is_gone(issuer: Issuer) -> None:
    first = redeemed(issuer, sent_back(authorised(issuer))["code"])[1]["id_token"]
    issuer.rotate()
    second = redeemed(issuer, sent_back(authorised(issuer))["code"])[1]["id_token"]
    assert claims(issuer, second)["sub"] == "subject-of-ada"
    with pytest.raises(LookupError):
        claims(issuer, first)


def test_it_is_found_by_its_name_over_tls_and_its_proxy_leads_nowhere_else(issuer: Issuer, tmp_path: Path) -> None:
    listening = Listening(issuer, tmp_path)
    try:
        answered = {host: _tunnel(listening, host) for host in ("login.example.com:443", "example.com:443")}
        assert answered["login.example.com:443"].startswith(b"HTTP/1.1 200")
        assert answered["example.com:443"].startswith(b"HTTP/1.1 502")
        trust = ssl.create_default_context(cafile=str(listening.ca))
        connection = http.client.HTTPSConnection("login.example.com", timeout=5)
        with (
            socket.create_connection(listening.at, 5) as raw,
            trust.wrap_socket(raw, server_hostname="login.example.com") as connection.sock,
        ):
            connection.request("GET", "/realms/ml/keys")
            assert json.loads(connection.getresponse().read())["keys"] == issuer.shown
    finally:
        listening.close()


def _tunnel(listening: Listening, target: str) -> bytes:
    with socket.create_connection(("127.0.0.1", urlsplit(listening.proxy).port or 0), 5) as asked:
        asked.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        return asked.recv(200)


ARGS = [
    "--oidc-issuer-url=" + URL,
    "--client-id=gpucluster",
    "--client-secret-file=/etc/people/client",
    "--allowed-group=ml",
    "--allowed-group=ml-admins",
    "--http-address=0.0.0.0:4180",
]


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    found = Node(tmp_path)
    found.world.directory = tmp_path
    found.world.tools = {"oauth2-proxy": Path("/t/oauth2-proxy")}
    secret = {"kind": "Secret", "data": {"client": base64.b64encode(b"its secret").decode()}}
    monkeypatch.setattr(
        found.world, "find", lambda store, name, _: secret if (store, name) == ("secrets", "s") else None
    )
    return found


def launched(node: Any, args: list[str], pod: str = "a") -> Any:
    launch = node.launch(spec={"name": "oauth2-proxy", "image": "quay.io/oauth2-proxy/oauth2-proxy:v7.15.6"}, args=args)
    spec = {**launch.pod["spec"], "volumes": [{"name": "secrets", "secret": {"secretName": "s"}}]}
    meta = {**launch.pod["metadata"], "name": pod}
    mount = Mount(path="/etc/people", volume="s", name="secrets")
    return type(launch)(**{**vars(launch), "pod": {**launch.pod, "metadata": meta, "spec": spec}, "mounts": (mount,)})


def test_pods_of_one_issuer_share_it_until_the_last_is_gone(node: Any) -> None:
    first, second = (launched(node, ARGS, pod) for pod in ("a", "b"))
    listening = proxy.joined(first)
    assert proxy.joined(second) is listening
    assert listening.issuer.clients == {"gpucluster": {"its secret"}}
    assert {each.name: each.groups for each in listening.issuer.people.values()} == {
        "of-ml": ("ml",),
        "of-ml-admins": ("ml-admins",),
        "stranger": (),
    }
    proxy.left(first)
    proxy.left(first)
    assert proxy.joined(first) is listening
    proxy.left(first)
    proxy.left(second)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(listening.at, 1)
    again = proxy.joined(first)
    assert again is not listening
    proxy.left(first)


@pytest.mark.parametrize("gone", ["--oidc-issuer-url", "--client-secret-file"])
def test_without_what_it_is_told_it_does_not_start(node: Any, gone: str) -> None:
    with pytest.raises(LaunchError):
        proxy.joined(launched(node, [each for each in ARGS if not each.startswith(gone)]))


def test_the_program_listens_on_loopback_and_reaches_its_issuer_alone(
    node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def start(self: Any, launch: Any, binary: Path, argv: list[str], ports: Any, env: Any) -> None:
        seen.update(binary=binary, argv=argv, ports=dict(ports), env=env)

    monkeypatch.setattr(RealProcess, "__init__", start)
    monkeypatch.setattr(RealProcess, "stop", lambda _: None)
    launch = launched(node, ARGS)
    program = known().start(launch)
    try:
        assert seen["binary"] == Path("/t/oauth2-proxy")
        assert seen["argv"][:-1] == ARGS[:-1]
        assert seen["argv"][-1] == f"--http-address=127.0.0.1:{seen['ports'][4180]}"
        assert seen["env"]["HTTPS_PROXY"].startswith("http://127.0.0.1:")
        assert Path(seen["env"]["SSL_CERT_FILE"]).is_file()
    finally:
        program.stop()
    assert not [key for key in proxy._LISTENING if key[0] == str(node.world.directory)]
