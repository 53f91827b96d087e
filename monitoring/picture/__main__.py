"""`python -m monitoring.picture --stack prod --out DIR`: a stack's dashboards, to import into a Grafana or to look at.

Writes DIR/<uid>.json for each, and with --prometheus URL also DIR/<uid>.html with what that Prometheus knows.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from monitoring.dashboards import dashboards
from monitoring.picture.data import NoAnswerError, Prometheus
from monitoring.picture.page import page
from planner.plan import plan
from planner.references import references
from settings.errors import SettingsError
from settings.load import from_file

_MOST_HOURS = 24 * 366


def main(arguments: Sequence[str]) -> int:
    """Write the files. Exit status 1 where the stack file cannot be read, or the Prometheus does not answer."""
    parser = argparse.ArgumentParser(prog="python -m monitoring.picture")
    parser.add_argument("--stack", required=True, help="the stack of Pulumi.<stack>.yaml")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    parser.add_argument("--prometheus", metavar="URL", help="whose data to draw, e.g. http://127.0.0.1:9090")
    parser.add_argument("--hours", type=_hours, help="the stretch that they show at first, in place of each one's own")
    options = parser.parse_args(arguments)
    try:
        written = _write(options.stack, options.out, options.prometheus, options.hours)
    except (SettingsError, NoAnswerError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(map(str, written)))
    return 0


def _hours(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= _MOST_HOURS:
        raise argparse.ArgumentTypeError(f"{word[:80]!r} is no whole number of hours from 1 to {_MOST_HOURS}")
    return int(word)


def _write(stack: str, out: Path, prometheus: str | None, hours: int | None) -> list[Path]:
    made = dashboards(references(plan(from_file(Path(f"Pulumi.{stack}.yaml")))))
    if hours:
        made = tuple(replace(each, hours=hours) for each in made)
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for each in made:
        written.append(out / f"{each.uid}.json")
        written[-1].write_text(json.dumps(each.json(), indent=1) + "\n", encoding="utf-8")
    if prometheus:
        source, now = Prometheus(url=prometheus.rstrip("/")), time.time()
        for each in made:
            written.append(out / f"{each.uid}.html")
            written[-1].write_text(page(each, source, now), encoding="utf-8")
    return written


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
