"""What a stack says of alerts: where their pages are, and thresholds of its own."""

from typing import Annotated

from pydantic import Field

from settings.sections import Section
from settings.types import Matching

Word = Annotated[str, Matching(r"[a-z]+(-[a-z]+)*", "small letters and '-'")]


class OwnThreshold(Section):
    """An overridden threshold and its source: a contract, a measurement, a data sheet."""

    failure: Annotated[Word, Field(description="the page's name in docs/runbooks, such as gpu-hot")]
    limit: Annotated[Word, Field(description="the limit's name on that page, such as celsius")]
    value: float
    source: Annotated[str, Matching(r"\S.{2,}", "a source, in a few words"), Field(max_length=300)]


class Alerts(Section):
    """`runbooks` is where docs/runbooks is published: a URL, or the path in the repository."""

    runbooks: Annotated[str, Field(min_length=1, max_length=300)] = "docs/runbooks"
    thresholds: tuple[OwnThreshold, ...] = ()
