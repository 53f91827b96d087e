"""Approximate prices of a cluster's other parts: cables, modules, racks, batteries, coolant loops.

Nobody publishes list prices of most of these; the ranges are those of resellers' pages and public budgets.
"""

from datetime import date

from catalogue.types import PurchasePrice

_SHOPS = "resellers' pages, single pieces; approximate"
_BUDGETS = "public budgets of machine rooms; approximate"


def _price(low: float, high: float, source: str) -> PurchasePrice:
    return PurchasePrice.between(low, high, date(2026, 8, 1), source)


PARTS = {
    "edr dac cable": _price(60, 200, _SHOPS),
    "edr aoc cable": _price(250, 700, _SHOPS),
    "hdr dac cable": _price(100, 300, _SHOPS),
    "hdr acc cable": _price(200, 450, _SHOPS),
    "hdr aoc cable": _price(400, 1_200, _SHOPS),
    "ndr dac cable": _price(130, 400, _SHOPS),
    "ndr acc cable": _price(250, 600, _SHOPS),
    "ndr multimode cable": _price(60, 250, _SHOPS),
    "ndr single-mode cable": _price(60, 300, _SHOPS),
    "ndr switch transceiver": _price(1_000, 2_000, _SHOPS),
    "ndr card transceiver": _price(500, 1_200, _SHOPS),
    "xdr single-mode cable": _price(80, 400, _SHOPS),
    "xdr switch transceiver": _price(2_000, 4_000, _SHOPS),
    "xdr card transceiver": _price(1_200, 2_500, _SHOPS),
    "100gbe dac cable": _price(50, 150, _SHOPS),
    "100gbe aoc cable": _price(120, 400, _SHOPS),
    "200gbe dac cable": _price(100, 300, _SHOPS),
    "200gbe acc cable": _price(200, 450, _SHOPS),
    "200gbe aoc cable": _price(400, 1_000, _SHOPS),
    "400gbe dac cable": _price(130, 400, _SHOPS),
    "400gbe acc cable": _price(250, 600, _SHOPS),
    "400gbe multimode cable": _price(60, 250, _SHOPS),
    "400gbe single-mode cable": _price(60, 300, _SHOPS),
    "400gbe switch transceiver": _price(700, 2_000, _SHOPS),
    "400gbe card transceiver": _price(400, 1_200, _SHOPS),
    "800gbe dac cable": _price(200, 600, _SHOPS),
    "800gbe acc cable": _price(350, 900, _SHOPS),
    "800gbe multimode cable": _price(100, 350, _SHOPS),
    "800gbe single-mode cable": _price(100, 400, _SHOPS),
    "800gbe switch transceiver": _price(1_000, 2_500, _SHOPS),
    "800gbe card transceiver": _price(1_000, 2_500, _SHOPS),
    "management cable": _price(5, 20, _SHOPS),
    "management switch": _price(1_500, 5_000, _SHOPS),
    "rack": _price(2_000, 5_000, _BUDGETS),
    "rack PDU": _price(1_500, 4_000, _BUDGETS),
    "battery, per kWh": _price(800, 3_000, _BUDGETS),
    "coolant loop, per kW": _price(300, 1_000, _BUDGETS),
    "installation, per rack": _price(5_000, 20_000, _BUDGETS),
}
"""By name; cables and modules as `<generation> <kind>`."""
