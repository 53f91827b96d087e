"""What is wrong with the settings, as sentences: where, what, and what to type instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from settings.model import Aws, Metal, Settings
from settings.types import Path, SectionError

NAMESPACE = "gpucluster"

_PLATFORMS: dict[str, type[BaseModel]] = {"aws": Aws, "metal": Metal}
_LONGEST_ECHO = 60


class SettingsError(Exception):
    """Everything wrong with a stack's settings. `problems` are sentences, each beginning with its path."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(self.problems))


def sentences(error: ValidationError) -> list[str]:
    """One sentence per thing that pydantic found wrong."""
    return [sentence for details in error.errors() for sentence in _explain(details)]


def written(path: Path) -> str:
    """A path as it stands in a stack file: ('pools', 1, 'count') -> gpucluster:pools[1].count."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return f"{NAMESPACE}:{text}"


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word that was probably meant, or None."""
    camel = to_camel(word.replace("-", "_"))
    if camel in known:
        return camel
    return next(iter(get_close_matches(word, known, n=1)), None)


def meant(word: str, known: Sequence[str]) -> str:
    """What to say after an unknown word: the near one, or all of them."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near else f"known: {', '.join(known) or 'none'}"


def _explain(details: ErrorDetails) -> Iterable[str]:
    path = _without_tag(details["loc"])
    if details["type"] == "too_short" and len(details["input"]) >= details["ctx"]["min_length"]:
        return  # pydantic counts the valid entries only, and the others have been explained
    if details["type"] == "value_error":
        cause = details["ctx"]["error"]
        for below, sentence in cause.items if isinstance(cause, SectionError) else (((), str(cause)),):
            yield f"{written((*path, *below))}: {sentence}"
    elif details["type"] == "extra_forbidden":
        yield f"{written(path)}: {_unknown_key(details['loc'], str(path[-1]))}"
    elif details["type"] == "missing":
        yield f"{written(path)}: {_missing(details['loc'])}"
    elif details["type"] in ("union_tag_not_found", "union_tag_invalid"):
        given = details["ctx"].get("tag")
        state = f"must be {_alternatives(list(_PLATFORMS))}, is {_echo(given)}" if given else "is missing; type aws"
        yield f"{written((*path, 'kind'))}: {state}"
    else:
        yield f"{written(path)}: {_SENTENCES.get(details['type'], _otherwise)(details)}"


def _without_tag(loc: Path) -> Path:
    """A path without the step that pydantic adds for the kind of platform."""
    return (loc[0], *loc[2:]) if loc[:1] == ("platform",) and len(loc) > 1 and loc[1] in _PLATFORMS else loc


def _unknown_key(loc: Path, key: str) -> str:
    if len(loc) > 1 and loc[0] == "platform":
        for kind, platform in _PLATFORMS.items():
            if kind != loc[1] and key in _keys(platform):
                return f"belongs to platform.kind {kind}, and the kind is {loc[1]}; remove it"
    return f"is not a key; {meant(key, _keys(_section(loc[:-1])))}"


def _missing(loc: Path) -> str:
    section = _section(loc)
    if section is None:
        return "is missing; add it"
    required = [field.alias or name for name, field in section.model_fields.items() if field.is_required()]
    return f"is missing; add it with {', '.join(required)}"


def _keys(section: type[BaseModel] | None) -> list[str]:
    return [field.alias or name for name, field in section.model_fields.items()] if section else []


def _section(loc: Path) -> type[BaseModel] | None:
    """The model at a path (with the platform's tag), None where the path leads to something else."""
    here: Any = Settings
    for step in loc:
        if isinstance(step, int) or here is None:
            continue
        if step in _PLATFORMS and not (isinstance(here, type) and issubclass(here, BaseModel)):
            here = _PLATFORMS[step]
            continue
        fields = here.model_fields if isinstance(here, type) and issubclass(here, BaseModel) else {}
        annotation = next((field.annotation for name, field in fields.items() if step in (name, field.alias)), None)
        here = _model_within(annotation)
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _model_within(annotation: Any) -> Any:
    """The model inside tuple[Model, ...] or Model; a union of platforms as it is."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = [
        found
        for part in getattr(annotation, "__args__", ())
        if isinstance(found := _model_within(part), type) and issubclass(found, BaseModel)
    ]
    return models[0] if len(models) == 1 else annotation


def _echo(value: Any) -> str:
    text = "nothing" if value is None else repr(value) if isinstance(value, str) else str(value)
    if isinstance(value, Mapping):
        text = "a section"
    elif isinstance(value, list | tuple):
        text = "a list"
    return text if len(text) <= _LONGEST_ECHO else f"{text[:_LONGEST_ECHO]}..."


def _alternatives(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _must_be(what: str) -> Callable[[ErrorDetails], str]:
    """A sentence 'must be ..., is VALUE'."""
    return lambda details: f"must be {what}, is {_echo(details['input'])}"


def _must(template: str) -> Callable[[ErrorDetails], str]:
    """A sentence 'must ..., is VALUE' whose template takes names from the error's context."""

    def explain(details: ErrorDetails) -> str:
        limits = {name: f"{limit:g}" if isinstance(limit, float) else limit for name, limit in details["ctx"].items()}
        return f"must {template.format(**limits)}, is {_echo(details['input'])}"

    return explain


def _text(details: ErrorDetails) -> str:
    value = details["input"]
    quote = "; write it in quotes" if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return f"must be text, is {_echo(value)}{quote}"


def _one_of(details: ErrorDetails) -> str:
    options = details["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
    value = details["input"]
    near = nearest(value, options) if isinstance(value, str) else None
    guess = f"; did you mean {near}?" if near else ""
    return f"must be {_alternatives(options)}, is {_echo(value)}{guess}"


def _too_short(details: ErrorDetails) -> str:
    context = details["ctx"]
    entries = "entry" if context["min_length"] == 1 else "entries"
    return f"must have at least {context['min_length']} {entries}, has {context['actual_length']}"


def _too_long(details: ErrorDetails) -> str:
    context = details["ctx"]
    return f"must have at most {context['max_length']} entries, has {context['actual_length']}"


def _otherwise(details: ErrorDetails) -> str:
    return f"{details['msg'][:1].lower()}{details['msg'][1:]}"


_SENTENCES: dict[str, Callable[[ErrorDetails], str]] = {
    "greater_than_equal": _must("be at least {ge}"),
    "greater_than": _must("be more than {gt}"),
    "less_than_equal": _must("be at most {le}"),
    "less_than": _must("be less than {lt}"),
    "int_type": _must_be("a whole number"),
    "int_parsing": _must_be("a whole number"),
    "int_from_float": _must_be("a whole number"),
    "float_type": _must_be("a number"),
    "float_parsing": _must_be("a number"),
    "bool_type": _must_be("true or false"),
    "bool_parsing": _must_be("true or false"),
    "string_type": _text,
    "string_too_short": _must("have at least {min_length} characters"),
    "string_too_long": _must("have at most {max_length} characters"),
    "tuple_type": _must_be("a list"),
    "model_type": _must_be("a section of keys"),
    "model_attributes_type": _must_be("a section of keys"),
    "literal_error": _one_of,
    "too_short": _too_short,
    "too_long": _too_long,
}
