"""Sites whose fabric is another one."""

from dataclasses import replace
from typing import Any

from catalogue.metal_types import Server
from catalogue.network_types import NicRole
from catalogue.nics import NICS
from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from planner.findings import Finding
from tests.planner.site import found


def one(rule: str, changes: dict[str, Any] | None = None, catalogue: Catalogue = SHIPPED) -> Finding:
    """The one thing that the rule finds."""
    (finding,) = found(rule, changes, catalogue=catalogue)
    return finding


def with_cards(nic: str, *, count: int = 8, server: str = "DGX H100") -> Catalogue:
    """The catalogue with other compute cards in a server, whose device names are not known."""
    row = SHIPPED.servers[server]
    return with_server(
        replace(
            row,
            nics=tuple(
                replace(group, nic=NICS[nic], count=count, hcas=()) if group.role is NicRole.COMPUTE else group
                for group in row.nics
            ),
        )
    )


def with_server(row: Server) -> Catalogue:
    """The catalogue with a server's row replaced."""
    return replace(SHIPPED, servers={**SHIPPED.servers, row.name: row})


ROCE = {"fabric.kind": "roce", "fabric.switch": "SN5600", "fabric.subnetManager": None, "fabric.pfc": True}
ROCE_CARDS = with_cards("ConnectX-7 400GbE")
