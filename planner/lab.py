"""`python -m planner.lab --stack mine`: a lab that ends by itself, from three questions. It plans before it is written.

Exit status: 0 if the file was written, 1 if what was asked for cannot work (with what stands in the way), 2 if the
command is wrong. Without a terminal, what no option answers is taken as it stands in brackets.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path

from planner.named import NoStackError, Question, asked
from planner.new import owner, planned
from planner.plan import AwsPlan
from settings.presets import preset

PRESET = "lab-hybrid"
"""One L4 in each node of its training pool, bought as spot."""
_MOST_HOURS, _MOST_GPUS, _MOST_USD = 24 * 31, 64, 100_000
_SPARE = 1.1
"""What the limit of an hour leaves above the price."""


def _number(most: int, what: str, *, whole: bool = False) -> Callable[[str], str | None]:
    def wrong(word: str) -> str | None:
        try:
            value = float(word)
        except ValueError:
            value = 0
        known = 0 < value <= most and (not whole or word.isdecimal())
        return None if known else f"{word!r} is not a number of {what} up to {most:,}"

    return wrong


QUESTIONS = (
    Question(name="hours", asked="lifetime in hours", default="8", wrong=_number(_MOST_HOURS, "hours")),
    Question(name="gpus", asked="GPUs", default="1", wrong=_number(_MOST_GPUS, "GPUs", whole=True)),
    Question(name="budget", asked="total budget in USD", default="40", wrong=_number(_MOST_USD, "USD")),
)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """What was asked for: GPUs until `ends` for `usd` in all, `hours` from now."""

    hours: float
    gpus: int
    usd: float
    ends: datetime


def main(arguments: Sequence[str], ask: Callable[[str], str] | None = None, *, now: datetime | None = None) -> int:
    """Ask, plan, write. `ask` takes a prompt and gives the answer; without it and a terminal nobody is asked."""

    def write(given: Mapping[str, str], stack: str, file: Path) -> None:
        hours = float(given["hours"])
        begins = now or datetime.now(UTC)
        ends = begins + timedelta(hours=hours)
        lab = Lab(hours=hours, gpus=int(given["gpus"]), usd=float(given["budget"]), ends=ends.replace(microsecond=0))
        text, found = lab_file(lab, begins)
        file.write_text(text, encoding="utf-8")
        _tell(stack, file, lab, found)

    return asked("planner.lab", QUESTIONS, arguments, ask, "choose another name: make lab STACK=my-lab", write)


def _tell(stack: str, file: Path, lab: Lab, found: AwsPlan) -> None:
    hourly = _hourly(found)
    whole = f"{hourly * lab.hours:.2f} USD in {lab.hours:g} hours"
    print(f"{file}: {found.totals.gpus} GPUs, {hourly:.2f} USD an hour, {whole}")
    print(f"it destroys itself at {lab.ends:%Y-%m-%d %H:%M} UTC, or once {lab.usd:g} USD are spent")
    print("next: replace the placeholders in it, then")
    for line, why in (
        (f"make rehearse STACK={stack}", "rehearses it without an account"),
        (f"pulumi stack init {stack}", "once"),
        (f"make deploy STACK={stack}", "deploys it"),
        (f"make extend STACK={stack} HOURS=2", "extends it, within its budget"),
        (f"make undeploy STACK={stack}", "destroys it early"),
    ):
        print(f"  {line:36} {why}")


def lab_file(lab: Lab, now: datetime) -> tuple[str, AwsPlan]:
    """The text of a lab's file and its plan of this moment. Raises NoStackError and SettingsError."""
    hourly = _hourly(planned(_text(lab, limit=1_000_000, usd=100_000_000), now))
    text = _text(lab, limit=max(1, ceil(hourly * _SPARE)), usd=lab.usd)
    found = planned(text, now)
    refused = [str(finding) for finding in found.errors]
    if not refused and hourly * lab.hours > lab.usd:
        refused = [
            f"--budget: {lab.hours:g} hours at {hourly:.2f} USD cost {hourly * lab.hours:.2f} USD, more than "
            f"{lab.usd:g}; take --budget {ceil(hourly * lab.hours)}, fewer hours or fewer GPUs"
        ]
    if refused:
        raise NoStackError("\n".join(refused))
    return text, found


def _hourly(found: AwsPlan) -> float:
    return found.prices.hourly if found.prices.listed else found.prices.hourly_high


def _text(lab: Lab, *, limit: int, usd: float) -> str:
    return "".join(f"{line}\n" for line in _lines(lab, limit, usd))


def _lines(lab: Lab, limit: int, usd: float) -> Iterator[str]:
    yield "# A lab that destroys itself: docs/how-to/labs.md. `make plan` shows size, price and mistakes in a second."
    yield "config:"
    yield '  pulumi:disable-default-providers: ["*"]'
    yield "  # The network, addresses and bucket names are placeholders: replace them, then remove the next line."
    yield "  gpucluster:example: true"
    yield f"  gpucluster:preset: {PRESET}"
    yield "  gpucluster:platform: {publicAccessCidrs: [203.0.113.0/24]}  # replace: who may reach the API"
    if lab.gpus > 1:
        yield "  # g6.xlarge has no EFA: each run takes one node."
        yield "  gpucluster:pools:"
        for pool in preset(PRESET)["pools"]:
            trains = pool["role"] == "training"
            yield f"    - {json.dumps({**pool, **({'count': lab.gpus} if trains else {})})}"
    yield f"  gpucluster:budget: {{maxHourlyUsd: {limit}, maxGpus: {lab.gpus}}}  # a lab of more is refused"
    yield f'  gpucluster:lifecycle: {{owner: {owner()}, costCentre: labs, expiry: "{lab.ends:%Y-%m-%d}"}}'
    yield "  gpucluster:keeper:"
    yield f'    endsAt: "{lab.ends:%Y-%m-%dT%H:%M:%SZ}"'
    yield f"    maxUsd: {usd:g}"
    yield "    warnHours: 1"
    yield f"    emails: [{owner()}@example.com]  # replace: who is warned; AWS sends a link to confirm"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
