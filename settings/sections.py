"""What every section of a stack file is: a frozen model that refuses what it does not know."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationInfo,
    field_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticKnownError

Path = tuple[str | int, ...]


class SectionError(ValueError):
    """Several things wrong with one section: (path below the section, sentence) each."""

    def __init__(self, items: Iterable[tuple[Path, str]]) -> None:
        self.items = tuple(items)
        super().__init__("; ".join(sentence for _, sentence in self.items))


def repeated(values: Sequence[object], sentence: str, *at: str, key: str = "") -> Iterator[tuple[Path, str]]:
    """A problem at each of a list's values that stands there already: below `at`, at its index and the `key` there.

    `{}` in the sentence is the value.
    """
    for index, each in enumerate(values):
        if each in values[:index]:
            yield (*at, index, *([key] if key else ())), sentence.format(each)


_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that control something, but for tabs and new lines; Kubernetes, AWS and terminals refuse or obey them."""


class Section(BaseModel):
    """A frozen part of the settings: camelCase in the stack file, unknown keys refused, input never echoed."""

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
        hide_input_in_errors=True,
        str_strip_whitespace=True,
        allow_inf_nan=False,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _means_what_it_says(cls, value: Any, info: ValidationInfo) -> Any:
        """True is no 1, and text has no characters that nobody sees."""
        if isinstance(value, bool) and (number := _only_number(cls, info.field_name)):
            raise PydanticKnownError("int_type" if number is int else "float_type")
        if isinstance(value, str) and (said := _misread(value, None)):
            raise ValueError(said)
        if isinstance(value, list | tuple):
            number = _only_number(cls, info.field_name)
            raise_for = [((index,), said) for index, each in enumerate(value) if (said := _misread(each, number))]
            if raise_for:
                raise SectionError(raise_for)
        return value


def _misread(value: Any, number: type | None) -> str | None:
    """What is wrong with a value that pydantic would take: text with unseen characters, True in place of a number."""
    if isinstance(value, str) and (unseen := _UNSEEN.search(value)):
        return f"has the character {unseen[0]!r}, which is invisible; remove it"
    if isinstance(value, bool) and number:
        return f"must be a {'whole ' if number is int else ''}number, is {str(value).lower()}"
    return None


@cache
def _only_number(section: type[Section], name: str | None) -> type | None:
    """int or float where a key holds such numbers and nothing that is true or false."""
    hints = list(_plain_types(section.model_fields[name].annotation)) if name else []
    if bool in hints:
        return None
    return next((kind for kind in (int, float) if kind in hints), None)


def _plain_types(hint: Any) -> Iterable[Any]:
    """The types within an annotation, of the values of literals too."""
    if get_origin(hint) is Literal:
        yield from {type(each) for each in get_args(hint)}
    elif get_origin(hint) is Annotated:
        yield from _plain_types(get_args(hint)[0])
    elif inner := get_args(hint):
        yield from (found for each in inner for found in _plain_types(each))
    else:
        yield hint
