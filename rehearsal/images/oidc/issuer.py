"""A stand-in for an issuer of OpenID Connect: people it knows, a client that sends them, tokens that say who they are.

OpenID Connect Discovery 1.0, 3 and 4 (the document and where it is); Core 1.0, 3.1.2 (the authorisation request, its
answer and `login_hint`), 3.1.3 (the token endpoint), 2 (the ID token), 5.3 (UserInfo); RFC 6749, 4.1.2 (a code is
redeemed once, at the address it was sent to), 5.2 (errors of the token endpoint), 2.3.1 (how a client says who it is);
RFC 7636, 4.6 (whoever redeems a code has asked for it). Where an issuer asks for a password, it takes the word of
whoever names a person in `login_hint`, and shows everybody else a list of whom it knows.
"""

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from rehearsal.images.oidc.tokens import SigningKey, encoded

TOKEN_SECONDS = 300.0
CODE_SECONDS = 60.0
JSON, HTML = "application/json", "text/html; charset=utf-8"


@dataclass(frozen=True)
class Person:
    """Somebody by the `subject` that the issuer never gives to another."""

    subject: str
    name: str
    mail: str
    groups: tuple[str, ...]
    verified: bool = True


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP."""

    status: int
    content: str = ""
    content_type: str = JSON
    location: str = ""


@dataclass(frozen=True)
class _Code:
    person: Person
    client: str
    redirect: str
    challenge: str
    nonce: str
    until: float


class Issuer:
    """The issuer at `url`. `clients` are their secrets by id; each may send people back to `redirects`, any https
    address where that is None. Any thread may call it.
    """

    def __init__(
        self,
        url: str,
        people: Sequence[Person],
        clients: Mapping[str, set[str]],
        redirects: Sequence[str] | None = None,
    ) -> None:
        self.url, self.people = url, {each.name: each for each in people}
        self.clients = {name: set(known) for name, known in clients.items()}
        self._redirects = redirects
        self.rotate()
        self._codes: dict[str, _Code] = {}
        self._access: dict[str, Person] = {}
        self._lock = threading.Lock()

    def rotate(self) -> None:
        """Sign by another key from now on; the one before is not `shown` any more."""
        self._key = SigningKey()
        self.shown = [self._key.public]

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The answer to a request; names of `headers` are in small letters."""
        parts, base = urlsplit(target), urlsplit(self.url).path.rstrip("/")
        path = parts.path.removeprefix(base) if parts.path.startswith(base) else ""
        if (method, path) == ("GET", "/.well-known/openid-configuration"):
            return _json(200, self._document())
        if (method, path) == ("GET", "/keys"):
            return _json(200, {"keys": self.shown})
        if (method, path) == ("GET", "/authorize"):
            return self._authorize(_first(parts.query))
        if (method, path) == ("POST", "/token"):
            return self._token(headers, _first(body.decode()))
        if (method, path) == ("GET", "/userinfo"):
            person = self._access.get(headers.get("authorization", "").removeprefix("Bearer "))
            return _json(200, _claims(person)) if person else _json(401, {"error": "invalid_token"})
        return Reply(404)

    def _document(self) -> dict[str, Any]:
        at = self.url.rstrip("/")
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{at}/authorize",
            "token_endpoint": f"{at}/token",
            "userinfo_endpoint": f"{at}/userinfo",
            "jwks_uri": f"{at}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def _authorize(self, asked: Mapping[str, str]) -> Reply:
        """Where an address to go back to is not the client's, nobody is sent there, with an error or without."""
        redirect = asked.get("redirect_uri", "")
        known = redirect.startswith("https://") if self._redirects is None else redirect in self._redirects
        if asked.get("client_id") not in self.clients or not known:
            return Reply(400, "no such client, or an address that is not its own", HTML)
        if asked.get("response_type") != "code" or "openid" not in asked.get("scope", "").split():
            return _sent(redirect, error="invalid_request", state=asked.get("state", ""))
        if asked.get("code_challenge_method", "") not in ("", "S256"):
            return _sent(redirect, error="invalid_request", state=asked.get("state", ""))
        person = self.people.get(asked.get("login_hint", ""))
        if person is None:
            return Reply(200, self._list(asked), HTML)
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[code] = _Code(
                person,
                asked["client_id"],
                redirect,
                asked.get("code_challenge", ""),
                asked.get("nonce", ""),
                time.monotonic() + CODE_SECONDS,
            )
        return _sent(redirect, code=code, state=asked.get("state", ""))

    def _list(self, asked: Mapping[str, str]) -> str:
        at = f"{self.url.rstrip('/')}/authorize"
        links = (f"{at}?{urlencode({**asked, 'login_hint': name})}" for name in self.people)
        names = zip(links, self.people, strict=True)
        return "".join(f'<p><a href="{html.escape(link)}">{html.escape(name)}</a></p>\n' for link, name in names)

    def _token(self, headers: Mapping[str, str], asked: Mapping[str, str]) -> Reply:
        client, secret = _client(headers, asked)
        if secret not in self.clients.get(client, set()):
            return _json(401, {"error": "invalid_client"})
        with self._lock:
            code = self._codes.pop(asked.get("code", ""), None)
        verifier = encoded(hashlib.sha256(asked.get("code_verifier", "").encode()).digest())
        if asked.get("grant_type") != "authorization_code":
            return _json(400, {"error": "unsupported_grant_type"})
        if (
            code is None
            or code.until < time.monotonic()
            or (code.client, code.redirect) != (client, asked.get("redirect_uri"))
            or (code.challenge and code.challenge != verifier)
        ):
            return _json(400, {"error": "invalid_grant"})
        return _json(200, self._issued(code))

    def _issued(self, code: _Code) -> dict[str, Any]:
        access, now = secrets.token_urlsafe(24), int(time.time())
        self._access[access] = code.person
        times = {"iat": now, "exp": now + int(TOKEN_SECONDS)}
        said = {**({"nonce": code.nonce} if code.nonce else {}), **_claims(code.person)}
        token = self._key.signed({"iss": self.url, "aud": code.client, **times, **said})
        return {"access_token": access, "token_type": "Bearer", "expires_in": int(TOKEN_SECONDS), "id_token": token}


def _claims(person: Person) -> dict[str, Any]:
    """Core 1.0, 5.1; `groups` is what issuers that have groups call them."""
    return {
        "sub": person.subject,
        "preferred_username": person.name,
        "email": person.mail,
        "email_verified": person.verified,
        "groups": list(person.groups),
    }


def _client(headers: Mapping[str, str], asked: Mapping[str, str]) -> tuple[str, str]:
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return asked.get("client_id", ""), asked.get("client_secret", "")
    name, _, secret = base64.b64decode(value).decode().partition(":")
    return unquote(name), unquote(secret)


def _first(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


def _sent(redirect: str, **said: str) -> Reply:
    return Reply(302, location=f"{redirect}{'&' if '?' in redirect else '?'}{urlencode(said)}")


def _json(status: int, content: Mapping[str, Any]) -> Reply:
    return Reply(status, json.dumps(content))
