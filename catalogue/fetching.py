"""Downloads from registries and chart repositories, limited in size, protocol and hosts.

Python's own opener reads `file:`, `ftp:` and `data:` addresses, follows redirects to plain HTTP and to any host, and
reads without an end. Here an address is https (plain HTTP on this machine only, as Docker has it), redirects too,
nobody is sent from elsewhere to this machine, and an answer has a size.
"""

import ipaddress
import urllib.parse
import urllib.request
from http.client import HTTPMessage
from typing import IO, Any

LARGEST = 64 * 2**20
"""Bytes of one answer: the largest index of charts is a quarter of it."""


class FetchError(OSError):
    """An address that is not read, or an answer that is too large; the text says which and why."""


def refused(url: str, origin: str | None = None) -> str:
    """Why an address is not read, empty if it is; `origin` is the address whose answer named it. Pure."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    if origin is not None and _here(host) and not _here(urllib.parse.urlsplit(origin).hostname or ""):
        return f"{url} is on this machine or in its network, and {origin} is not"
    if parts.scheme == "https" and host:
        return ""
    if parts.scheme == "http" and _loopback(host):
        return ""
    return f"{url} is not https"


def kin(host: str, other: str) -> bool:
    """Whether two hosts are one, or of one owner: the same name but for its first part (auth.docker.io). Pure."""
    ours, theirs = host.partition(".")[2], other.partition(".")[2]
    return host == other or (ours == theirs and "." in ours) or ours == other or theirs == host


def opened(request: urllib.request.Request, timeout: float) -> Any:
    """The answer to a request. Raises FetchError, and what urllib raises."""
    if why := refused(request.full_url):
        raise FetchError(why)
    return _OPENER.open(request, timeout=timeout)


def whole(answer: Any, largest: int = LARGEST) -> bytes:
    """An answer to its end. Raises FetchError if that is too far."""
    content: bytes = answer.read(largest + 1)
    if len(content) > largest:
        raise FetchError(f"sends more than {largest // 2**20} MiB")
    return content


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _here(host: str) -> bool:
    """Whether an address leads to this machine or its own network, the metadata of an instance among it."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or "." not in host


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows what may be read."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if why := refused(newurl, req.full_url):
            raise FetchError(f"{req.full_url} redirects: {why}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """An opener that knows no scheme but these two."""
    opener = urllib.request.OpenerDirector()
    for each in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(each)
    return opener


_OPENER = _opener()
