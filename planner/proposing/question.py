"""What is asked: a model to train on so many tokens, or to answer so many requests; and what it may take."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, isnan

from catalogue.echo import echo
from catalogue.model_types import Model
from catalogue.regions import REGIONS
from settings.errors import meant

SERVING_DAYS = 30.0
"""Days that a budget for a service is for, where nobody says."""

LONGEST_SEQUENCE = 8192
STEP_SEQUENCES = 512
"""Sequences of a step of the optimizer: about 4 million tokens of 8,192, as Llama 3 and its like were trained."""


class QuestionError(Exception):
    """A question that cannot be answered; the message says what to type."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What an answer may take: days, US dollars for all of them, the region that nodes are rented in. With `spot`
    gangs of several nodes may be of spot capacity, whose interruptions nobody can forecast; single nodes always may.
    """

    days: float
    usd: float | None
    region: str
    spot: bool = False


@dataclass(frozen=True, kw_only=True)
class Training:
    """So many tokens through a model, within `limits`."""

    model: Model
    tokens: float
    limits: Limits

    @property
    def sequence(self) -> int:
        """Tokens of a sequence: the model's context, 8,192 at most."""
        return min(self.model.context, LONGEST_SEQUENCE)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """So many requests a second of a model, the first word of each within `ttft_s`; a request has `prompt` tokens and
    gets `answer` tokens.
    """

    model: Model
    rps: float
    ttft_s: float
    prompt: int
    answer: int
    limits: Limits


def asked(words: Mapping[str, str], models: Mapping[str, Model]) -> Training | Serving:
    """The question as it was typed, by the names that make has; an empty word was not typed. Raises QuestionError."""
    words = {name: word for name, word in words.items() if word}
    train, serve = words.get("MODEL", ""), words.get("SERVE", "")
    if bool(train) == bool(serve):
        raise QuestionError(
            "say what to train, MODEL=llama-3-70b TOKENS=2e12 DAYS=30 BUDGET=5e6, "
            "or what to serve, SERVE=llama-3-70b RPS=10 TTFT=1"
        )
    name = train or serve
    if name not in models:
        raise QuestionError(f"the catalogue has no model {echo(name)}; {meant(name, sorted(models))}")
    region = words.get("REGION") or "us-east-2"
    if region not in REGIONS:
        raise QuestionError(f"there is no region {echo(region)}; {meant(region, REGIONS)}")
    usd = _number(words, "BUDGET", most=1e12) if words.get("BUDGET") else None
    days = _number(words, "DAYS", most=3650) if train or words.get("DAYS") else SERVING_DAYS
    limits = Limits(days=days, usd=usd, region=region, spot=bool(words.get("SPOT")))
    if train:
        return Training(model=models[name], tokens=_number(words, "TOKENS", most=1e15), limits=limits)
    found = Serving(
        model=models[name],
        rps=_number(words, "RPS", most=1e5),
        ttft_s=_number(words, "TTFT", most=600),
        prompt=round(_number({"PROMPT": "1000", **words}, "PROMPT", least=1, most=1e7)),
        answer=round(_number({"ANSWER": "200", **words}, "ANSWER", least=1, most=1e6)),
        limits=limits,
    )
    if found.prompt + found.answer > found.model.context:
        raise QuestionError(
            f"{found.prompt} tokens of prompt and {found.answer} of answer exceed the context of {name}, "
            f"{found.model.context} tokens; lower PROMPT or ANSWER"
        )
    return found


def _number(words: Mapping[str, str], name: str, *, most: float, least: float = 0.0) -> float:
    word = words.get(name, "")
    try:
        value = float(word.replace(",", "").replace("_", ""))
    except ValueError:
        value = float("nan")
    if isnan(value) or not isfinite(value) or not max(least, 1e-9) <= value <= most:
        said = f"is {echo(word)}" if word else "is missing"
        raise QuestionError(f"{name} {said}: type a number above 0 and at most {most:g}, such as {name}=30")
    return value
