"""A SOCKS5 server's part of a conversation: whom the client, once it has said who it is, wants to reach.

Source: RFC 1928 (CONNECT) and RFC 1929 (user name and password).

For clients that forward requests with the names of others in them: an HTTP proxy is told that name and not the address
(Go, net/http, Request.WriteProxy), and would look for it in the cluster.
"""

import asyncio
import hmac
import ipaddress

VERSION, BY_PASSWORD, CONNECT = 5, 2, 1
PASSWORD_VERSION, ADMITTED, STRANGER = 1, 0, 1
IPV4, NAME, IPV6 = 1, 3, 4
SUCCEEDED, REFUSED = 0, 5
_LENGTHS = {IPV4: 4, IPV6: 16}


class SocksError(ValueError):
    """What came is no request that this server knows."""


async def wanted(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, user: str, password: str
) -> tuple[str, int]:
    """Greets the client, which has to know the password; host and port that it asks for.

    Raises SocksError, and what reading raises.
    """
    version, methods = await reader.readexactly(2)
    if version != VERSION or BY_PASSWORD not in await reader.readexactly(methods):
        raise SocksError("not a client of SOCKS5 with a password")
    writer.write(bytes([VERSION, BY_PASSWORD]))
    (version,) = await reader.readexactly(1)
    said = [await _counted(reader), await _counted(reader)]
    known = hmac.compare_digest(b"\0".join(said), f"{user}\0{password}".encode())
    if version != PASSWORD_VERSION or not known:
        writer.write(bytes([PASSWORD_VERSION, STRANGER]))
        raise SocksError("the client does not know the password")
    writer.write(bytes([PASSWORD_VERSION, ADMITTED]))
    version, command, _, kind = await reader.readexactly(4)
    if (version, command) != (VERSION, CONNECT) or kind not in (IPV4, NAME, IPV6):
        raise SocksError(f"command {command} for an address of kind {kind}")
    length = (await reader.readexactly(1))[0] if kind == NAME else _LENGTHS[kind]
    address = await reader.readexactly(length)
    host = address.decode("ascii") if kind == NAME else str(ipaddress.ip_address(address))
    return host, int.from_bytes(await reader.readexactly(2), "big")


async def _counted(reader: asyncio.StreamReader) -> bytes:
    """Bytes after their number."""
    return await reader.readexactly((await reader.readexactly(1))[0])


def reply(status: int) -> bytes:
    """What the client is told; the address it is bound to says nothing here."""
    return bytes([VERSION, status, 0, IPV4]) + bytes(6)
