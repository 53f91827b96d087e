"""Proposals side by side, as text."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from planner.faces.layout import quantity, table
from planner.proposing.best import Answer, Proposal, Shown, Step, missed
from planner.proposing.question import LONGEST_BLOCK_DAYS, Serving, Training
from planner.step import Phase, StepTime
from planner.types import AwsPlan
from planner.wording import about, counted, usd


def answer_text(question: Training | Serving, answer: Answer) -> RenderableType:
    """The whole answer."""
    if not answer.shown:
        return Text(
            f"No hardware in the catalogue serves or trains {question.model.name} as asked: take a smaller model, a "
            "shorter prompt or a longer TTFT"
        )
    head = _asked(question)
    if answer.fits:
        said = f"{head}: best of {answer.compared:,} configurations, cheapest first"
    else:
        said = f"{head}: nothing fits. The closest of {answer.compared:,} configurations: {_miss(question, answer)}"
    headings = ("", *(str(number) for number in range(1, len(answer.shown) + 1)))
    columns = [dict(_facts(question, each)) for each in answer.shown]
    rows = [(name, *(column.get(name) for column in columns)) for name in columns[0]]
    return Group(Text(f"{said}\n", "bold"), table(headings, rows), Text(f"\n{_close(question)}"))


def _asked(question: Training | Serving) -> str:
    limits = question.limits
    within = f"{quantity(limits.days)} day{'' if limits.days == 1 else 's'}" + (
        f" and {usd(limits.usd)} USD" if limits.usd else ""
    )
    if isinstance(question, Training):
        return f"{question.model.name} on {question.tokens:.3g} tokens within {within}"
    return (
        f"{question.model.name} for {quantity(question.rps)} requests/s of {question.prompt:,} and "
        f"{question.answer:,} tokens, the first token after {quantity(question.ttft_s)} s, for {within}"
    )


def _close(question: Training | Serving) -> str:
    if isinstance(question, Training):
        return (
            "Prices are US list prices, days are the forecast of make plan, each with its range. "
            "OUT=Pulumi.mine.yaml PICK=1 writes the first as a stack file."
        )
    return (
        "Rates are computed, not measured: load one replica before you buy many. "
        "OUT=Pulumi.mine.yaml PICK=1 writes the first as a stack file."
    )


def _miss(question: Training | Serving, answer: Answer) -> str:
    limits, nearest = question.limits, answer.shown[0].proposal
    parts = []
    if nearest.days > limits.days:
        parts.append(f"{about(nearest.days - limits.days)} days too long")
    if limits.usd and nearest.usd > limits.usd:
        parts.append(f"{about(nearest.usd - limits.usd)} USD over the budget")
    return f"{nearest.candidate.offer.hardware}, {' and '.join(parts) or 'within the limits'}"


def _facts(question: Training | Serving, shown: Shown) -> Iterator[tuple[str, str]]:
    proposal = shown.proposal
    candidate = proposal.candidate
    offer = candidate.offer
    yield "nodes", f"{candidate.nodes} x {offer.hardware}"
    yield "GPUs", f"{candidate.gpus:,} {offer.gpu.name}"
    yield "bought as", "purchase" if offer.owned else f"{offer.capacity}, {offer.region}"
    yield "USD", _range(proposal.usd, proposal.usd_range)
    yield "days", _range(proposal.days, proposal.days_range) if candidate.timed else quantity(proposal.days)
    yield "forecast error", f"{proposal.off:.0%}"
    if timed := candidate.timed:
        layout, job = timed.layout, timed.job
        experts = f" expert {layout.expert}" if layout.expert > 1 else ""
        yield "layout", f"tensor {layout.tensor} pipeline {layout.pipeline}{experts} data {layout.data}"
        yield "precision", f"{job.precision}, {job.software} {job.sharding}, recompute {job.recompute}"
        yield "tokens/s", about(timed.step.tokens_per_s)
        yield "step time", _time(timed.step)
    if found := candidate.replica:
        weights = "16 bits" if found.quantization == "none" else found.quantization
        yield "replicas", f"{candidate.replicas} x {counted(found.tensor, 'GPU')}"
        yield "weights", weights
        yield "a replica", f"{about(found.rps)} requests/s"
        yield "first token", f"{found.ttft_s:.2g} s, then {about(1 / found.token_s)} tokens/s"
    yield "storage", _storage(proposal)
    yield "limited by", _binds(question, shown)
    yield "fewer nodes", _step(question, shown.less)
    yield "more nodes", _step(question, shown.more)


def _range(value: float, ends: tuple[float, float]) -> str:
    low, high = (about(each) for each in ends)
    return about(value) if low == high else f"{about(value)} ({low} to {high})"


def _time(step: StepTime) -> str:
    exposed = sum(each.exposed_s for each in step.phases if each.phase is not Phase.LOAD) / step.seconds
    bubble = step.bubble_s / step.seconds
    return f"computing {1 - exposed - bubble:.0%}, exchanges {exposed:.0%}, bubble {bubble:.0%}"


def _storage(proposal: Proposal) -> str:
    lustre = proposal.sections["storage"]["lustre"]
    if isinstance(proposal.plan, AwsPlan):
        tier = lustre.get("throughputMbpsPerTib")
        return f"FSx {lustre['capacityGib']:,} GiB" + (f", {tier} MB/s per TiB" if tier else ", scratch")
    return f"{lustre['count']} x {lustre['server']}"


def _binds(question: Training | Serving, shown: Shown) -> str:
    """What keeps fewer nodes from doing."""
    if (found := shown.proposal.candidate.replica) is not None:
        return found.bound
    if shown.less is None:
        if shown.proposal.candidate.nodes == 1:
            return "nothing: one node is the least"
        block = shown.proposal.candidate.offer.capacity == "capacity-block"
        days = f", or the {LONGEST_BLOCK_DAYS} days of a block" if block else ""
        return f"memory{days}: fewer nodes are too small"
    fewer = shown.less.found
    if fewer is None:
        return "memory or storage: fewer nodes are refused"
    if fewer.days > question.limits.days:
        return "the days"
    return "the budget" if missed(question.limits, fewer.days, fewer.usd) > 1 else "the price"


def _step(question: Training | Serving, step: Step | None) -> str:
    if step is None:
        return "none"
    if step.found is None:
        return f"{counted(step.nodes, 'node')}: refused"
    found = step.found
    if isinstance(question, Serving) and found.candidate.replica:
        rate = found.candidate.replicas * found.candidate.replica.rps
        return f"{counted(step.nodes, 'node')}: {about(rate)} requests/s, {about(found.usd)} USD"
    return f"{counted(step.nodes, 'node')}: {about(found.days)} days, {about(found.usd)} USD"
