"""`python -m rehearsal.charts.played.generate [NAME...]`: the data files of played charts, from their inventories.

NAME is an inventory's, `$GPUCLUSTER_UPSTREAM/rendered/NAME.json`. Without a name every data file is written again from
the inventory that it names. Only facts are taken over: no descriptions, scripts or comments.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rehearsal.charts import upstream
from rehearsal.charts.chart import Object
from rehearsal.charts.played import files, names
from rehearsal.charts.played.inventory import CRD, Entry, is_only_a_name, rebuilt


class InventoryError(Exception):
    """An inventory, or what belongs to it, is not in the vendors' directory."""


def data(upstream_directory: Path, inventory: str) -> dict[str, Any]:
    """The content of a chart's data file. Raises InventoryError."""
    path = upstream_directory / "rendered" / f"{inventory}.json"
    if not path.is_file():
        raise InventoryError(f"{path} does not exist: see the folder `rendered` for the inventories there are")
    told = json.loads(path.read_text())
    if "chart" not in told:
        raise InventoryError(f"{inventory} is a set of manifests, not a chart")
    entries = [_with_kind(upstream_directory, each) for each in told["objects"]]
    parts = [told["chart"], *_sub_charts(upstream_directory / "charts" / inventory / "Chart.yaml")]
    whole = [each for each in entries if not is_only_a_name(each)]
    made: list[Object] = [names.marked(rebuilt(each, whole), parts) for each in whole]
    first = _in_crds([each["kind"] for each in whole])
    return {
        "chart": told["chart"],
        "version": told["version"],
        "appVersion": told["appVersion"],
        "inventory": inventory,
        "parts": parts,
        "leftOut": [f"{each['kind']} {each['name']}" for each in entries if is_only_a_name(each)],
        "crds": made[:first],
        "objects": made[first:],
    }


def _in_crds(kinds: Sequence[str]) -> int:
    """How many objects are the definitions in crds/, which helm prints before all templates.

    A chart of definitions alone has them as templates: it is there so that helm upgrades them.
    """
    return next((at for at, kind in enumerate(kinds) if kind != CRD), 0)


def _with_kind(upstream_directory: Path, entry: Entry) -> Entry:
    """An entry of a definition with the kind it defines, which the inventory does not hold."""
    if entry["kind"] != CRD:
        return entry
    plural = entry["name"].partition(".")[0]
    path = upstream_directory / "crds" / f"{entry['group']}_{plural}.yaml"
    if not path.is_file():
        raise InventoryError(f"{path} does not exist, so the kind of {entry['name']} is not known")
    kind = yaml.load(path.read_text(), yaml.CSafeLoader)["spec"]["names"]["kind"]
    return {**entry, "plural": plural, "definedKind": kind}


def _sub_charts(path: Path) -> list[str]:
    about = yaml.safe_load(path.read_text()) if path.is_file() else {}
    return [str(each.get("alias") or each["name"]) for each in about.get("dependencies") or []]


def text(content: Mapping[str, Any]) -> str:
    """A data file: one line per object, keys sorted."""
    return "{\n" + ",\n".join(_lines(content)) + "\n}\n"


def _lines(content: Mapping[str, Any]) -> Iterator[str]:
    for key, value in content.items():
        if key in ("crds", "objects") and value:
            objects = ",\n".join(json.dumps(each, sort_keys=True) for each in value)
            yield f"{json.dumps(key)}: [\n{objects}\n]"
        else:
            yield f"{json.dumps(key)}: {json.dumps(value)}"


def main(arguments: Sequence[str]) -> int:
    """Write the data files. Returns the exit status."""
    directory = upstream.directory()
    if directory is None:
        print("no inventories: set GPUCLUSTER_UPSTREAM to the vendors' directory", file=sys.stderr)
        return 2
    inventories = list(arguments) or [files.load(name)["inventory"] for name in files.names()]
    try:
        for inventory in inventories:
            content = data(directory, inventory)
            files.path(content["chart"]).write_text(text(content))
            print(f"{content['chart']} {content['version']}: {len(content['objects'])} objects")
    except InventoryError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
