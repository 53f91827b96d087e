"""Servers as they are sold: processors, memory, GPUs, cards and power supplies belong together."""

from catalogue.servers.dgx import DGX
from catalogue.servers.general import GENERAL
from catalogue.servers.hgx import HGX

SERVERS = {row.name: row for row in (*DGX, *HGX, *GENERAL)}
"""Rows by name."""
