"""Somebody at a browser: it keeps cookies to their hosts, and follows where it is sent.

RFC 6265, 5.3 and 5.4, as far as host-only cookies go; RFC 9110, 15.4.
"""

import http.client
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookies import SimpleCookie
from urllib.parse import urljoin, urlsplit

Find = Callable[[str], tuple[str, int]]
"""Where a host is on this machine."""


@dataclass(frozen=True)
class Seen:
    """An answer: `cookies` are the lines that set some."""

    status: int
    text: str
    location: str
    cookies: tuple[str, ...]


class Browser:
    """It finds hosts by `find`, and trusts the certificates in `trusted`, PEM."""

    def __init__(self, find: Find, trusted: str) -> None:
        self._find, self._trust = find, ssl.create_default_context(cadata=trusted)
        self.cookies: dict[str, dict[str, str]] = {}

    def ask(self, url: str, headers: Mapping[str, str] | None = None) -> Seen:
        """One request, which is not followed."""
        parts = urlsplit(url)
        host = str(parts.hostname)
        jar = self.cookies.setdefault(host, {})
        sent = {"Accept": "text/html", **({"Cookie": "; ".join(f"{k}={v}" for k, v in jar.items())} if jar else {})}
        connection = http.client.HTTPSConnection(host, timeout=20)
        with (
            socket.create_connection(self._find(host), 20) as raw,
            self._trust.wrap_socket(raw, server_hostname=host) as sock,
        ):
            connection.sock = sock
            path = parts.path or "/"
            connection.request(
                "GET", f"{path}?{parts.query}" if parts.query else path, headers={**sent, **(headers or {})}
            )
            answer = connection.getresponse()
            text, lines = answer.read().decode(), tuple(answer.headers.get_all("Set-Cookie") or ())
        for line in lines:
            for name, morsel in SimpleCookie(line).items():
                if not morsel.value or morsel["max-age"] in ("0", "-1"):
                    jar.pop(name, None)
                else:
                    jar[name] = morsel.value
        return Seen(answer.status, text, urljoin(url, answer.getheader("Location") or ""), lines)

    def follow(self, url: str, most: int = 8) -> Seen:
        """Where it ends up."""
        seen = self.ask(url)
        for _ in range(most):
            if seen.status not in (302, 303, 307, 308):
                break
            seen = self.ask(seen.location)
        return seen
