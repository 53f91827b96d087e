"""The best answers: candidates from the cheapest on, each planned whole, until no cheaper one can be left."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from math import ceil

from catalogue.units import HOURS_PER_DAY
from catalogue.whole import Catalogue
from planner.metal_types import MetalPlan
from planner.plan import AwsPlan, plan
from planner.proposing.candidates import Candidate, Found, of_serving, of_training
from planner.proposing.question import Limits, Serving, Training, offers
from planner.proposing.requests import OFF, Replica
from planner.proposing.stack import Sections, aws_sections, metal_sections, with_room
from settings.errors import SettingsError
from settings.load import from_sections

SHOWN = 5
_SPARE = 1.1


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A candidate that plans without an error. `usd` is what the days cost: rent, or what is bought and its power.

    `off` is how far days and price may lie from what is said; a purchase does not depend on the days.
    """

    candidate: Candidate
    sections: Sections
    plan: AwsPlan | MetalPlan
    days: float
    usd: float
    off: float

    @property
    def days_range(self) -> tuple[float, float]:
        """The fewest and the most days."""
        return self.days * (1 - self.off), self.days * (1 + self.off)

    @property
    def usd_range(self) -> tuple[float, float]:
        """The least and the most US dollars."""
        if self.candidate.offer.owned:
            return self.usd, self.usd
        return self.usd * (1 - self.off), self.usd * (1 + self.off)


@dataclass(frozen=True, kw_only=True)
class Step:
    """The same with fewer or more nodes: None where that cannot be planned."""

    nodes: int
    found: Proposal | None


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A proposal with its neighbours, either of which may not exist."""

    proposal: Proposal
    less: Step | None
    more: Step | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The best proposals, the cheapest first; `fits` is false where they are the nearest misses."""

    fits: bool
    shown: tuple[Shown, ...]
    compared: int


class Search:
    """The answer to one question. Every plan that it makes is made once."""

    def __init__(self, question: Training | Serving, catalogue: Catalogue, today: date) -> None:
        self._question, self._catalogue, self._today = question, catalogue, today
        self._planned: dict[tuple[str, str, int, Replica | None], Proposal | None] = {}
        self.candidates = tuple(self._candidates())

    def _candidates(self) -> Iterator[Candidate]:
        question, services = self._question, self._catalogue.services
        known, limits = Found(), question.limits
        trains = isinstance(question, Training)
        for offer in offers(self._catalogue, limits.region, self._today, gangs=trains, spot=limits.spot):
            if isinstance(question, Training):
                yield from of_training(question, offer, services, known)
            else:
                yield from of_serving(question, offer, services)

    def answer(self) -> Answer:
        """The five best of different hardware or capacity; where none is within the limits, the nearest misses."""
        found = self._best(within=True)
        fits = bool(found)
        shown = tuple(self._beside(each) for each in found or self._best(within=False))
        return Answer(fits=fits, shown=shown, compared=len(self.candidates))

    def _best(self, *, within: bool) -> list[Proposal]:
        """One proposal of each hardware and capacity: the cheapest within the limits, or those that miss these least.
        Candidates come by the least that they can take, and the search ends when it is above what the last one shown
        takes.
        """
        limits = self._question.limits

        def rank(each: Candidate | Proposal) -> float:
            return each.usd if within else missed(limits, each.days, each.usd)

        best: dict[tuple[str, str], Proposal] = {}
        for each in sorted(self.candidates, key=rank):
            if within and missed(limits, each.days, each.usd) > 1:
                continue
            ranked = sorted(map(rank, best.values()))
            if len(ranked) >= SHOWN and rank(each) >= ranked[SHOWN - 1]:
                break
            key = (each.offer.hardware, each.offer.capacity)
            if key in best and rank(each) >= rank(best[key]):
                continue
            found = self.planned(each)
            if found is None or (within and missed(limits, found.days, found.usd) > 1):
                continue
            if key not in best or rank(found) < rank(best[key]):
                best[key] = found
        return sorted(best.values(), key=rank)[:SHOWN]

    def planned(self, candidate: Candidate) -> Proposal | None:
        """The candidate planned whole; None where every way to do so has an error."""
        key = (candidate.offer.hardware, candidate.offer.capacity, candidate.nodes, candidate.replica)
        if key not in self._planned:
            self._planned[key] = self._plan(candidate)
        return self._planned[key]

    def _plan(self, candidate: Candidate) -> Proposal | None:
        for sections in self._sections(candidate):
            try:
                found = plan(from_sections(sections), catalogue=self._catalogue, today=self._today)
            except SettingsError:
                return None
            if found.errors:
                continue
            if isinstance(found, MetalPlan):
                sections = with_room(sections, len(found.facility.racks), found.facility.power.it_kw)
                found = plan(from_sections(sections), catalogue=self._catalogue, today=self._today)
            proposal = self._proposal(candidate, sections, found)
            if proposal is not None and not found.errors:
                return proposal
        return None

    def _sections(self, candidate: Candidate) -> Iterator[Sections]:
        if candidate.offer.owned:
            return metal_sections(self._question, candidate, self._catalogue)
        return iter((aws_sections(self._question, candidate, self._today),))

    def _proposal(self, candidate: Candidate, sections: Sections, found: AwsPlan | MetalPlan) -> Proposal | None:
        days, off = candidate.days, OFF
        if candidate.timed:
            forecast = next(iter(found.runs.values())).forecast
            if forecast is None or forecast.days is None:
                return None
            days, off = forecast.days, candidate.timed.step.off
        return Proposal(candidate=candidate, sections=sections, plan=found, days=days, usd=_usd(found, days), off=off)

    def _beside(self, proposal: Proposal) -> Shown:
        mine = proposal.candidate
        alike = [
            each
            for each in self.candidates
            if each.offer == mine.offer and (each.replica is None or each.replica == mine.replica)
        ]
        if mine.replica is not None:
            per_node = mine.offer.gpus // mine.replica.tensor
            alike = [
                replace(mine, nodes=nodes, replicas=nodes * per_node)
                for nodes in (mine.nodes - 1, mine.nodes + 1)
                if nodes
            ]
        less = max((each for each in alike if each.nodes < mine.nodes), key=lambda each: each.nodes, default=None)
        more = min((each for each in alike if each.nodes > mine.nodes), key=lambda each: each.nodes, default=None)
        return Shown(proposal=proposal, less=self._step(less), more=self._step(more))

    def _step(self, candidate: Candidate | None) -> Step | None:
        return Step(nodes=candidate.nodes, found=self.planned(candidate)) if candidate else None

    def final(self, proposal: Proposal) -> Sections:
        """The stack file's sections with a budget a little above what it costs an hour."""
        if not isinstance(proposal.plan, AwsPlan):
            return proposal.sections
        prices = proposal.plan.prices
        hourly = prices.hourly if prices.listed else prices.hourly_high
        return aws_sections(self._question, proposal.candidate, self._today, max(1, ceil(hourly * _SPARE)))


def missed(limits: Limits, days: float, usd: float) -> float:
    """How many times the limits it takes, the worse of days and budget; 1 or less is within both."""
    return max(days / limits.days, usd / limits.usd if limits.usd else 0.0)


def _usd(found: AwsPlan | MetalPlan, days: float) -> float:
    hours = days * HOURS_PER_DAY
    if isinstance(found, MetalPlan):
        return found.bom.cost().usd + found.facility.usd_per_hour * hours
    blocks = sum(each.usd for each in found.prices.blocks)
    booked = sum(each.usd_per_hour for each in found.prices.lines if blocks and each.pool == "training")
    return blocks + (found.prices.hourly - booked) * hours
