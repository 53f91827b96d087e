"""Where EC2 offers the instance types of the catalogue: zone ids by region. AWS adds to it every few weeks."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path

Offerings = Mapping[str, Mapping[str, tuple[str, ...]]]

OFFERINGS_AS_OF = date(2026, 8, 1)

_FILE = Path(__file__).with_name("offerings.json")

OFFERINGS: Offerings = {
    prefix: {region: tuple(zones) for region, zones in regions.items()}
    for prefix, regions in json.loads(_FILE.read_text(encoding="utf-8")).items()
}
"""The beginning of a type's name -> region -> zone ids; the longest beginning holds."""


def offered(type_: str, offerings: Offerings = OFFERINGS) -> Mapping[str, tuple[str, ...]] | None:
    """Zone ids by region where the type can be had; None if nothing is recorded of it, as of a site's own row."""
    return offerings[max(found, key=len)] if (found := [each for each in offerings if type_.startswith(each)]) else None
