"""`python -m planner --stack prod`: a stack's plan and findings, without Pulumi.

Exit status: 0 if the stack can be deployed, 1 if it is refused, 2 if the command is wrong.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from catalogue.echo import bare
from planner.faces import lists
from planner.faces.assignments import AssignmentError, assignments
from planner.faces.difference import Difference, Side, difference, differing
from planner.faces.document import document, plain, text
from planner.faces.explain import Explanation, UnknownRuleError, Verdict, explain
from planner.metal_types import MetalPlan
from planner.named import UsageError, changed, either, of_preset, of_stack
from planner.plan import AwsPlan, draft, plan
from planner.wording import counted
from settings.errors import SettingsError

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDE = 120
_TABLES: Mapping[str, Callable[[AwsPlan | MetalPlan], str | None]] = {
    "bom": lists.bill,
    "cables": lists.cables,
    "switches": lists.switches,
}


@dataclass(kw_only=True)
class Shown:
    """What a command answers: a plan, or how it differs from another, or a rule's verdict on it."""

    name: str
    plan: AwsPlan | MetalPlan
    difference: Difference | None = None
    explanation: Explanation | None = None

    @property
    def refused(self) -> bool:
        """Whether what was asked about stops a deployment: the stack, or the one rule."""
        return self.explanation.verdict is Verdict.REFUSES if self.explanation else bool(self.plan.errors)

    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        if self.explanation:
            return dict(plain(self.explanation))
        if self.difference:
            return {"plan": document(self.plan), "difference": plain(self.difference)}
        return document(self.plan)

    def text(self) -> "RenderableType":
        """As a person reads it."""
        from planner.faces.text import difference_text, explanation_text, plan_text

        if self.explanation:
            return explanation_text(self.name, self.explanation)
        if self.difference:
            return difference_text(self.name, self.difference, self.plan)
        return plan_text(self.name, self.plan)


def main(arguments: Sequence[str]) -> int:
    """Print the plan, how it differs from another, or one rule's verdict."""
    options = _parser().parse_args(arguments)
    options.format = options.format or ("csv" if options.table else "text")
    try:
        return _answer(options)
    except (UsageError, AssignmentError, UnknownRuleError) as error:
        print(error, file=sys.stderr)
        return 2
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has seen enough; Python would complain once more when it closes its output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m planner")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--stack", help="plan the stack of Pulumi.<stack>.yaml")
    what.add_argument("--preset", help="plan a shipped preset as it is")
    parser.add_argument("--format", choices=("text", "json", "html", "csv"))
    parser.add_argument("--table", choices=tuple(_TABLES), help="what to list with --format csv, which it implies")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there instead of printing")
    parser.add_argument(
        *("--set", "-s"),
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="change settings, show the difference; csv lists the changed plan",
    )
    parser.add_argument("--against", metavar="NAME", help="compare with another stack or preset")
    parser.add_argument("--base", metavar="REVISION", help="compare with the stack as a git revision plans it")
    parser.add_argument("--explain", metavar="RULE", help="show one rule, what it looks at and what it says")
    return parser


def _answer(options: argparse.Namespace) -> int:
    if options.table and options.format != "csv":
        raise UsageError(f"a table is listed as csv, not as {options.format}: leave out one of them")
    options.table = options.table or "bom"
    if options.against and options.format == "csv":
        raise UsageError(f"format csv lists one plan: compare with {bare(options.against)} as text, json or html")
    if options.explain and options.format in ("html", "csv"):
        raise UsageError(f"format {options.format} shows a whole plan: explain {bare(options.explain)} as text or json")
    _one_comparison(options)
    changes = assignments(options.set)
    name, settings, sections = of_preset(options.preset) if options.preset else of_stack(options.stack)
    wanted = changed(sections, changes) if changes else settings
    planned = plan(wanted)
    shown = Shown(name=name, plan=planned)
    if options.explain:
        shown.explanation = explain(options.explain, draft(wanted), planned.findings)
    elif options.against:
        other, others, _ = either(options.against)
        shown.difference = difference(plan(others), planned, (other, name), map(str, changes), same_stack=False)
    elif options.base:
        shown.difference = _since(options.base, name, shown.plan, list(map(str, changes)))
    elif changes:
        shown.difference = difference(plan(settings), planned, assignments=map(str, changes))
    if shown.difference and options.format == "csv":
        print(f"{options.table} of {name}, changed; text, json and html show the difference", file=sys.stderr)
    if options.out is None:
        _print(shown, options.format, options.table, sys.stdout)
    else:
        _save(shown, options)
    return 1 if shown.refused else 0


def _one_comparison(options: argparse.Namespace) -> None:
    """A revision is compared with as text, json or html, of a stack, and alone."""
    if not options.base:
        return
    if not options.stack:
        raise UsageError(
            f"a preset is compared with no revision; name a stack: make plan STACK=dev BASE={bare(options.base)}"
        )
    if options.against or options.explain or options.format == "csv":
        other = "AGAINST" if options.against else "EXPLAIN" if options.explain else "FORMAT=csv"
        raise UsageError(f"BASE={bare(options.base)} and {other} are two questions; ask them one after the other")


def _since(base: str, name: str, planned: AwsPlan | MetalPlan, changes: list[str]) -> Difference:
    """How a stack's plan differs from that of another revision, by whose own planner the other is made."""
    from planner.faces.revision import RevisionError, checked_out, told_at

    file = f"Pulumi.{name}.yaml"
    try:
        with checked_out(Path(), base) as tree:
            there = told_at(Path(), tree, [file], base)
    except RevisionError as error:
        raise UsageError(str(error)) from None
    if file not in there:
        whole = f"everything in it is new; `make plan STACK={bare(name)}` shows the whole plan"
        raise UsageError(f"{bare(file)} is not in {bare(base)}: {whole}")
    other = there[file]
    if other.problems:
        raise UsageError("\n".join((f"{bare(file)} of {bare(base)} cannot be planned:", *other.problems)))
    side = Side(numbers=other.numbers, findings=other.findings, runs=other.runs)
    return differing(side, Side.of(planned), (base, name), changes)


def _print(shown: Shown, how: str, table: str, file: TextIO) -> None:
    if how == "json":
        file.write(text(shown.data()))
    elif how == "html":
        from planner.faces.page.whole import page

        file.write(page(shown.name, shown.plan, shown.difference))
    elif how == "csv":
        listed = _TABLES[table](shown.plan)
        if listed is None:
            raise UsageError(f"{shown.name} has no fabric of its own, and so no {table} to list")
        file.write(listed)
    else:
        from rich.console import Console

        # Off a terminal nobody's lines end at 80 columns, which is rich's width there.
        Console(file=file, width=None if file.isatty() or os.environ.get("COLUMNS") else _WIDE).print(shown.text())


def _save(shown: Shown, options: argparse.Namespace) -> None:
    content = StringIO()
    _print(shown, options.format, options.table, content)
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(content.getvalue(), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{bare(options.out)}: {error.strerror}") from None
    count = len(shown.plan.errors)
    print(f"{options.out}: the plan of {shown.name}, {counted(count, 'error')}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
