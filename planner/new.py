"""`python -m planner.new --stack mine`: a stack file to begin with, from six questions. It plans before it is written.

Exit status: 0 if the file was written, 1 if what was asked for cannot work (with what stands in the way), 2 if the
command is wrong. Without a terminal, what no option answers is taken as it stands in brackets.
"""

import getpass
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import Any

from catalogue.echo import echo
from catalogue.instances import INSTANCES
from catalogue.models import MODELS
from catalogue.offerings import OFFERINGS, offered
from catalogue.regions import REGIONS, zones
from catalogue.units import HOURS_PER_MONTH
from catalogue.versions import STANDARD_SUPPORT_ENDS
from planner.named import NoStackError, Question, asked
from planner.plan import AwsPlan, plan
from settings.errors import NAMESPACE, meant
from settings.load import from_sections
from settings.stackfile import read
from settings.zones import zone_prefix

NOTHING = "-"
_SERVERS = (("g6e.xlarge", 1), ("g6e.12xlarge", 4), ("g6e.48xlarge", 8), ("p5.48xlarge", 8), ("p5en.48xlarge", 8))
"""What a model is served on: the first of these on which the stack plans, the cheapest first."""
_SPARE = 1.1
"""What the budget leaves above the price."""
_GROWTH = 2
"""How many times its GPUs a stack may have: a node more is fine, a digit too many in a count is not."""
_BATCHES = (8, 4, 2, 1)
"""Sequences of the first run at a time: the first with which its plan has no finding at all, as the GPUs hold it."""
_MOST_NODES = 4096


@dataclass(frozen=True)
class _Limits:
    """USD of an hour, GPUs, and USD of a month of which people are told."""

    hourly_usd: int
    gpus: int
    monthly_usd: int


_ANY = _Limits(hourly_usd=1_000_000, gpus=1_000_000, monthly_usd=100_000_000)


def _among(known: Collection[str], what: str) -> Callable[[str], str | None]:
    names = sorted(known)
    return lambda word: None if word in known else f"there is no {what} {echo(word)}; {meant(word, names)}"


def _count(word: str) -> str | None:
    known = word.isdigit() and 1 <= int(word) <= _MOST_NODES
    return None if known else f"{echo(word)} is not a number from 1 to {_MOST_NODES}"


QUESTIONS = (
    Question(name="region", asked="AWS region", default="us-east-2", wrong=_among(REGIONS, "region")),
    Question(
        name="train",
        asked=f"instance type for training, {NOTHING} for none",
        default="p5.4xlarge",
        wrong=_among({*INSTANCES, NOTHING}, "instance type"),
    ),
    Question(name="nodes", asked="number of training nodes", default="2", wrong=_count),
    Question(
        name="serve",
        asked=f"model to serve, {NOTHING} for none",
        default="llama-3-8b",
        wrong=_among({*MODELS, NOTHING}, "model"),
    ),
    Question(
        name="weights",
        asked="address of its weights (s3://, hf:// or pvc://)",
        default="s3://acme-model-weights/llama-3-8b",
    ),
    Question(name="network", asked="network that may reach the Kubernetes API (CIDR)", default="203.0.113.0/24"),
)


def main(arguments: Sequence[str], ask: Callable[[str], str] | None = None) -> int:
    """Ask, plan, write. `ask` takes a prompt and gives the answer; without it and a terminal nobody is asked."""

    def write(given: Mapping[str, str], stack: str, file: Path) -> None:
        text, found = stack_file(given)
        file.write_text(text, encoding="utf-8")
        print(f"{file}: {found.totals.nodes} nodes, {found.prices.hourly:.2f} USD an hour")
        print(f"next: make plan STACK={stack} shows what it is, make up STACK={stack} rehearses it without an account")

    return asked("planner.new", QUESTIONS, arguments, ask, "edit it, or choose another name", write)


def stack_file(answers: Mapping[str, str]) -> tuple[str, AwsPlan]:
    """The text of a stack file and its plan, by the names of the questions. Raises NoStackError and SettingsError."""
    refused: list[list[str]] = []
    for server, gpus in _SERVERS:
        tried = []
        for batch in _BATCHES:
            text, found = _priced(answers, server, gpus, batch)
            if not found.findings:
                return text, found
            tried.append((text, found))
        if fitting := [each for each in tried if not each[1].errors]:
            return fitting[-1]
        refused += [[str(finding) for finding in found.errors] for _, found in tried]
    # What a larger server would not mend is what stands in the way.
    fewest = min(refused, key=len)
    raise NoStackError("\n".join(fewest))


def _priced(answers: Mapping[str, str], server: str, gpus: int, batch: int) -> tuple[str, AwsPlan]:
    """With a budget a little above the price."""
    first = planned(_text(answers, server, gpus, batch, _ANY))
    price = first.prices.hourly if first.prices.listed else first.prices.hourly_high
    monthly = min(ceil(price * HOURS_PER_MONTH), _ANY.monthly_usd)
    limits = _Limits(hourly_usd=max(1, ceil(price * _SPARE)), gpus=_GROWTH * first.totals.gpus, monthly_usd=monthly)
    text = _text(answers, server, gpus, batch, limits)
    return text, planned(text)


def planned(text: str, now: datetime | None = None) -> AwsPlan:
    """The plan of a new file's text, made now or at another moment. Raises SettingsError."""
    config: dict[str, Any] = read(text, "the new file")["config"]
    prefix = f"{NAMESPACE}:"
    sections = {key.removeprefix(prefix): each for key, each in config.items() if key.startswith(prefix)}
    found = plan(from_sections(sections), today=now)
    if not isinstance(found, AwsPlan):
        raise TypeError("a stack of six questions is one on AWS")
    return found


def _text(answers: Mapping[str, str], server: str, gpus: int, batch: int, limits: _Limits) -> str:
    return "".join(f"{line}\n" for line in _lines(answers, server, gpus, batch, limits))


def _lines(answers: Mapping[str, str], server: str, gpus: int, batch: int, limits: _Limits) -> Iterator[str]:
    trains, serves = answers["train"] != NOTHING, answers["serve"] != NOTHING
    region, zone = answers["region"], _zone(answers["region"], [answers["train"]] if trains else [server])
    beside = next((each for each in zones_of(region) if each != zone), zone)
    yield "# Every key: docs/reference/stack-file.md. `make plan` shows size, price and mistakes in a second."
    yield "config:"
    yield '  pulumi:disable-default-providers: ["*"]'
    yield "  # example.com, acme and 203.0.113.0/24 are placeholders: replace them, then remove the next line."
    yield "  gpucluster:example: true"
    yield "  gpucluster:platform:"
    yield "    kind: aws"
    yield f"    region: {region}"
    yield f"    zones: [{zone}, {beside}]  # zone ids: the same in every account"
    yield f"    gpuZone: {zone}  # a zone that has the {'training nodes' if trains else 'GPUs'}"
    yield f'    kubernetesVersion: "{max(STANDARD_SUPPORT_ENDS)}"'
    yield f"    publicAccessCidrs: [{answers['network']}]  # who may reach the Kubernetes API"
    yield "  gpucluster:pools:"
    yield "    - {name: system, role: system, instanceType: m7i.xlarge, count: 2}  # operators"
    if trains:
        yield f"    - {{name: training, role: training, instanceType: {answers['train']}, count: {answers['nodes']}}}"
    if serves:
        yield f"    - {{name: inference, role: inference, instanceType: {server}, count: 1}}"
    yield "  gpucluster:storage:"
    yield "    lustre: {deploymentType: SCRATCH_2, capacityGib: 1200}  # not replicated; PERSISTENT_2 is"
    if serves and answers["weights"].startswith("s3://"):
        yield f"    sources: [{{bucket: {answers['weights'].removeprefix('s3://').partition('/')[0]}}}]"
    yield "  gpucluster:scheduling:"
    yield "    queues: [{name: research}]"
    if trains:
        yield "  gpucluster:training:"
        yield "    runs:"
        yield "      - name: first-run"
        yield "        pool: training"
        yield f"        nodes: {answers['nodes']}"
        yield "        queue: research"
        yield "        image: nvcr.io/nvidia/pytorch:26.03-py3"
        yield "        framework: reference  # the bundled trainer on generated tokens; your own: docs/tutorial.md"
        yield "        model: llama-3.2-1b"
        yield "        recompute: full"
        yield "        sequenceLength: 2048"
        yield f"        microBatch: {batch}"
        yield "        tokensBillion: 0.1"
        yield "        shmGib: 4  # more for scripts whose data loaders have many workers"
    if serves:
        yield "  gpucluster:serving:"
        yield "    services:"
        yield f"      - name: {answers['serve'].replace('.', '-')}"
        yield "        pool: inference"
        yield f"        model: {answers['serve']}"
        yield f"        weights: {answers['weights']}  # copied to the file system once"
        yield "        image: vllm/vllm-openai:v0.29.0"
        if gpus > 1:
            yield f"        tensorParallel: {gpus}"
    yield "  gpucluster:budget:"
    yield f"    maxHourlyUsd: {limits.hourly_usd}  # a stack that costs more is refused"
    yield f"    maxGpus: {limits.gpus}  # so is one with more GPUs"
    yield "    alerts:  # what it has cost is told; AWS sends a link to confirm"
    yield f"      monthlyUsd: {limits.monthly_usd}"
    yield f"      emails: [{owner()}@example.com]  # replace"
    yield f"  gpucluster:lifecycle: {{owner: {owner()}, costCentre: research}}"


def owner() -> str:
    """Who is asked, as a tag can say it."""
    try:
        return "".join(letter for letter in getpass.getuser() if letter.isalnum()) or "me"
    except (KeyError, OSError):
        return "me"


def zones_of(region: str) -> list[str]:
    """The region's zones that are recorded, or what the first ones are called."""
    known = [zone for zone in zones(region, OFFERINGS) if zone.count("-") == 1]
    return known or [f"{zone_prefix(region)}-az{number}" for number in (1, 2)]


def _zone(region: str, types: Sequence[str]) -> str:
    """The first zone that offers the types; the first of all where none does, which the planner then tells."""
    there = [set((offered(each) or {}).get(region, ())) for each in types]
    fitting = [zone for zone in zones_of(region) if all(zone in each for each in there)]
    return (fitting or zones_of(region))[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
