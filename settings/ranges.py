"""Ranges of a stack file: `dgx-[01-08]` says eight names once, and addresses and racks count along."""

import re
from ipaddress import IPv4Address
from typing import Annotated

from pydantic import AfterValidator, Field

from catalogue.echo import echo

MOST_HOSTS = 4096
_COUNTING = re.compile(r"\[(\d{1,5})-(\d{1,5})\]")


def members(pattern: str) -> tuple[str, ...]:
    """The values that a pattern stands for: itself, or one for each number between the brackets, as wide as the first.

    Raises ValueError for two ranges, for one that counts down, and for more than 4,096 values.
    """
    found = list(_COUNTING.finditer(pattern))
    if not found:
        if "[" in pattern or "]" in pattern:
            raise ValueError(f"{echo(pattern)} has brackets without a range; write them as [1-8] or [01-08]")
        return (pattern,)
    first, last = int(found[0][1]), int(found[0][2])
    if len(found) > 1:
        raise ValueError(f"{echo(pattern)} has two ranges; a pattern can have only one")
    if not 0 <= last - first < MOST_HOSTS:
        raise ValueError(f"{echo(pattern)} does not ascend, or has more than {MOST_HOSTS} members; write it as [1-8]")
    before, after, width = pattern[: found[0].start()], pattern[found[0].end() :], len(found[0][1])
    return tuple(f"{before}{number:0{width}}{after}" for number in range(first, last + 1))


def _names(value: str) -> str:
    for name in members(value):
        if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
            raise ValueError(
                f"{echo(name)} is not a host name: lower-case letters and digits, - between them, 63 at most"
            )
    return value


def _addresses(value: str) -> str:
    for address in members(value):
        try:
            IPv4Address(address)
        except ValueError:
            raise ValueError(f"{echo(address)} is not an IPv4 address; write 10.20.0.11, or 10.20.0.[11-18]") from None
    return value


def _racks(value: str) -> str:
    for rack in members(value):
        if not re.fullmatch(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,31}", rack):
            raise ValueError(f"{echo(rack)} is not a rack name; use letters, digits, - _ and . (32 at most)")
    return value


HostNames = Annotated[str, AfterValidator(_names), Field(max_length=80)]
Addresses = Annotated[str, AfterValidator(_addresses), Field(max_length=32)]
RackNames = Annotated[str, AfterValidator(_racks), Field(max_length=48)]
