"""The pages of docs/runbooks, made from the table: `python -m monitoring.runbooks [--check]`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from monitoring.failure import OWNERS, Failure
from monitoring.failures import ROWS, SUBJECTS, failures
from monitoring.thresholds import Codes, Threshold

PAGES = Path(__file__).parents[1] / "docs" / "runbooks"

_HEAD = """# Runbooks

One page for each alert. Written by `make reference` from the table of failures in `monitoring/failures/`: the rules
that Prometheus loads, these pages and the tests of both come from the same rows.

An alert names its page in the annotation `runbook_url`. Its labels say the rest: `failure` is the page's name,
`severity` is `critical` (somebody acts now), `warning` (somebody acts today) or `info`; `domain` says where causes lie
(user, system, hardware), `owner` who acts. With `symptom="yes"` it tells what a failure does to a run or a service:
while a critical cause fires in the same pool, symptoms are quiet.

In the commands NODE, POD, RUN, SERVICE, NAMESPACE and the like stand for the labels of the alert; STACK=NAME is the
name of the stack. Some actions are queries: type them into Prometheus or Grafana.

"""


def pages() -> dict[str, str]:
    """Every page's text by its file's name."""
    return {"README.md": _index(), **{failure.page: page(failure) for failure in failures()}}


def page(failure: Failure) -> str:
    """The page of one failure."""
    return "\n".join(_lines(failure))


def _lines(failure: Failure) -> Iterator[str]:
    yield f"# {failure.title}"
    yield ""
    yield f"Alert `{failure.alert}`, {failure.severity}. Who acts: {OWNERS[failure.owner]}."
    if failure.row:
        yield f"In the taxonomy of failures: {failure.row}."
    yield ""
    yield "## What you see"
    yield ""
    yield f"> {_readable(failure.summary)}"
    yield ""
    yield f"{failure.signal}."
    yield ""
    yield "## What it means"
    yield ""
    yield failure.meaning
    yield ""
    yield "Likely causes:"
    yield ""
    yield from (f"- {cause}" for cause in failure.causes)
    yield ""
    yield "## What to do first"
    for number, action in enumerate(failure.actions, 1):
        yield ""
        yield f"{number}. {action.say}:"
        yield ""
        yield "   ```promql" if action.query else "   ```sh"
        yield f"   {action.query or action.command}"
        yield "   ```"
    if failure.more:
        yield ""
        yield failure.more
    yield ""
    yield "## How to tell that it is over"
    yield ""
    yield failure.over
    yield ""
    yield "## Where the numbers come from"
    yield ""
    yield from _numbers(failure)
    yield ""
    yield f"Further reading: <{failure.link}>."
    if failure.guards:
        yield ""
        yield f"Answers {', '.join(failure.guards)}."
    yield ""


def _numbers(failure: Failure) -> Iterator[str]:
    held = f"for {failure.span}" if failure.span != "0s" else "at one evaluation"
    yield f"The rule, which must hold {held}:"
    yield ""
    yield "```promql"
    yield failure.query
    yield "```"
    if not failure.limits:
        yield ""
        yield "It compares with no number but none and one."
        return
    yield ""
    yield "| limit | value | source |"
    yield "|---|---|---|"
    for name, limit in failure.limits.items():
        yield f"| {name} | {_value(limit)} | {limit.source} |"
    if any(isinstance(limit, Threshold) for limit in failure.limits.values()):
        yield ""
        yield "A stack file may set another value, with its own source, in `monitoring.alerts.thresholds`."


def _value(limit: Threshold | Codes) -> str:
    if isinstance(limit, Codes):
        return ", ".join(limit.values)
    return f"{limit.value:,.15g} {limit.unit}"


def _readable(summary: str) -> str:
    """The sentence with the names of labels in place of Prometheus' templates."""
    return re.sub(r"{{ \$(?:labels\.)?(\w+)[^}]*}}", r"{\1}", summary)


def _index() -> str:
    parts = [_HEAD]
    for subject in SUBJECTS:
        parts.append(f"## {subject.title}\n\n| failure | alert | severity | who acts |\n|---|---|---|---|\n")
        parts += (
            f"| [{each.title}]({each.page}) | `{each.alert}` | {each.severity} | {each.owner} |\n"
            for each in subject.failures
        )
        parts.append("\n")
    parts.append("## The twelve symptoms of the taxonomy\n\n| symptom | page |\n|---|---|\n")
    by_row = {each.row: each for each in failures() if each.row}
    parts += (f"| {row} | [{by_row[row].title}]({by_row[row].page}) |\n" for row in ROWS)
    return "".join(parts)


def main(arguments: list[str]) -> int:
    """Write the pages, and remove those without a failure; with --check, only say which are stale (1), if any is."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m monitoring.runbooks [--check]")
        return 2
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    stale = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    for name in stale:
        if arguments:
            print(f"docs/runbooks/{name} is not what the table of failures says; type: make reference")
        elif name in wanted:
            PAGES.mkdir(parents=True, exist_ok=True)
            (PAGES / name).write_text(wanted[name], encoding="utf-8")
        else:
            (PAGES / name).unlink()
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
