"""A supplier's list of machines as the section of a stack file: `python -m planner.machines_csv FILE`.

The list is CSV with a header. Columns: name, pool or storage, address, host_key, and where they are known serial, bmc,
mac, rack, unit. Names of columns are read without regard to case, blanks and dashes; others are left out, and said.
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

COLUMNS: Mapping[str, str] = {
    "name": "name",
    "hostname": "name",
    "pool": "pool",
    "storage": "storage",
    "address": "address",
    "ip": "address",
    "managementip": "address",
    "hostkey": "hostKeys",
    "serial": "serials",
    "serialnumber": "serials",
    "servicetag": "serials",
    "bmc": "bmc",
    "bmcip": "bmc",
    "ilo": "bmc",
    "idrac": "bmc",
    "mac": "macs",
    "macaddress": "macs",
    "rack": "racks",
    "unit": "units",
    "rackunit": "units",
}
"""What suppliers call a column, and the key of the inventory that it becomes."""

NEEDED = ("name", "address", "hostKeys")
LISTS = ("hostKeys", "serials", "macs", "units")


class ListError(Exception):
    """The list cannot be read; the text says where and what to do."""


def machines(text: str) -> tuple[list[dict[str, object]], list[str]]:
    """The machines of a list, each as an entry of `hosts`, and the columns that mean nothing here. Raises ListError."""
    rows = list(csv.reader(text.splitlines(), delimiter=_delimiter(text)))
    if not rows:
        raise ListError("the list is empty; its first line names the columns")
    known = [COLUMNS.get(re.sub(r"[^a-z]", "", each.lower())) for each in rows[0]]
    strange = [name for name, key in zip(rows[0], known, strict=True) if key is None and name.strip()]
    if twice := sorted({key for key in known if key and known.count(key) > 1}):
        raise ListError(f"two columns are {', '.join(twice)}; keep one of each")
    if missing := [key for key in NEEDED if key not in known]:
        raise ListError(f"no column is {', '.join(missing)}; the first line has {', '.join(rows[0])}")
    return list(_entries(rows[1:], known)), strange


def _delimiter(text: str) -> str:
    """Of spreadsheets in English, and of those in countries where a comma is in numbers."""
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _entries(rows: Sequence[Sequence[str]], known: Sequence[str | None]) -> Iterator[dict[str, object]]:
    for number, row in enumerate(rows, 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(known):
            raise ListError(
                f"line {number} has {len(row)} cells and the first line {len(known)}; quote cells with commas"
            )
        given = {key: cell.strip() for key, cell in zip(known, row, strict=True) if key and cell.strip()}
        if missing := [key for key in NEEDED if key not in given]:
            raise ListError(f"line {number}: {', '.join(missing)} is empty")
        yield {key: _value(key, cell, number) for key, cell in given.items()}


def _value(key: str, cell: str, number: int) -> object:
    if key == "units":
        if not (unit := re.fullmatch(r"[uU]?(\d{1,2})", cell)):
            raise ListError(f"line {number}: unit is {cell}; write its number, as 12 or U12")
        return [int(unit[1])]
    text = cell.lower() if key in ("name", "macs") else cell
    return [text] if key in LISTS else text


def main(arguments: Sequence[str]) -> int:
    """Print the entries; 1 where the list cannot be read, 2 without a list."""
    if len(arguments) != 1:
        print("usage: make hosts CSV=FILE", file=sys.stderr)
        return 2
    try:
        found, strange = machines(Path(arguments[0]).read_text(encoding="utf-8-sig"))
    except (ListError, OSError, UnicodeDecodeError) as error:
        print(f"error: {arguments[0]}: {error}", file=sys.stderr)
        return 1
    if strange:
        print(f"left out: {', '.join(strange)}", file=sys.stderr)
    print(yaml.safe_dump({"hosts": found}, sort_keys=False, width=1000), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
