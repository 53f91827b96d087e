"""What is wrong with the settings, as sentences: where, what, and what to type instead."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from catalogue.echo import echo
from settings.model import PLATFORMS, Settings
from settings.sections import Path, SectionError
from settings.site_rows import Rows

NAMESPACE = "gpucluster"


class SettingsError(Exception):
    """Everything wrong with a stack's settings. `problems` are sentences, each beginning with its path."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(self.problems))


def sentences(error: ValidationError, model: type[Settings]) -> list[str]:
    """One sentence per thing that pydantic found wrong while it read data as `model`."""
    return [sentence for details in error.errors() for sentence in _explain(details, model)]


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


def _explain(details: ErrorDetails, model: type[Settings]) -> Iterable[str]:
    path = details["loc"]
    if details["type"] == "too_short" and len(details["input"]) >= details["ctx"]["min_length"]:
        return  # pydantic counts the valid entries only, and the others have been explained
    if details["type"] == "value_error":
        cause = details["ctx"]["error"]
        for below, sentence in cause.items if isinstance(cause, SectionError) else (((), str(cause)),):
            yield f"{written((*path, *below))}: {sentence}"
    elif details["type"] == "extra_forbidden":
        yield f"{written(path)}: {_unknown_key(path, model)}"
    elif details["type"] == "missing":
        yield f"{written(path)}: {_missing(path, model)}"
    elif details["type"] == "invalid_key":
        keys = ", ".join(_keys(_section(path[:-1], model)))
        yield f"{written(path[:-1])}: has the key {_echo(details['input'])}, which is not text; its keys are {keys}"
    else:
        yield f"{written(path)}: {_SENTENCES.get(details['type'], _otherwise)(details)}"


def _unknown_key(loc: Path, model: type[Settings]) -> str:
    key, here = str(loc[-1]), _section(loc[:-1], model)
    for kind, other in PLATFORMS.items():
        if other is not model and key in _keys(_section(loc[:-1], other)):
            mine = next((name for name, each in PLATFORMS.items() if each is model), "another")
            return f"belongs to platform.kind {kind}, and the kind is {mine}; remove it"
    return f"is not a key; {meant(key, _keys(here))}"


def _missing(loc: Path, model: type[Settings]) -> str:
    section = _section(loc, model)
    if section is None:
        options = _options(loc, model)
        return f"is missing; type {_alternatives(options)}" if options else "is missing; add it"
    required = [field.alias or name for name, field in section.model_fields.items() if field.is_required()]
    return f"is missing; add it with {', '.join(required)}"


def _options(loc: Path, model: type[Settings]) -> list[str]:
    """The words that the key at `loc` can have, none where it is no choice."""
    above = _section(loc[:-1], model)
    fields = above.model_fields if above else {}
    annotation = next((field.annotation for name, field in fields.items() if loc[-1] in (name, field.alias)), None)
    return [str(option) for option in get_args(annotation)] if get_origin(annotation) is Literal else []


def _keys(section: type[BaseModel] | None) -> list[str]:
    return [field.alias or name for name, field in section.model_fields.items()] if section else []


def _section(loc: Path, model: type[Settings]) -> type[BaseModel] | None:
    """The section at a path of `model`, None where the path leads to something else."""
    here: Any = model
    for step in loc:
        if isinstance(step, int) or here is None:
            continue
        fields = here.model_fields if isinstance(here, type) and issubclass(here, BaseModel) else {}
        here = next((_model_of(field) for name, field in fields.items() if step in (name, field.alias)), None)
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _model_of(field: FieldInfo) -> Any:
    rows = next((each for each in field.metadata if isinstance(each, Rows)), None)
    return rows.model if rows else _model_within(field.annotation)


def _model_within(annotation: Any) -> Any:
    """The section inside tuple[Section, ...] or Section | None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = [
        found
        for part in getattr(annotation, "__args__", ())
        if isinstance(found := _model_within(part), type) and issubclass(found, BaseModel)
    ]
    return models[0] if len(models) == 1 else annotation


def _echo(value: Any) -> str:
    """A value as a sentence repeats it: words in quotes, the rest as in YAML, sections and lists not at all."""
    if isinstance(value, Mapping):
        return "a section"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, date):
        return f"the date {value}"
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else echo(value)


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


def _list(details: ErrorDetails) -> str:
    value = details["input"]
    if value is None:
        remedy = "add its entries, or remove the key"
    else:
        remedy = "begin each entry with a dash" if isinstance(value, Mapping) else "put the entries in [ ]"
    return f"must be a list, is {_echo(value)}; {remedy}"


def _keyed(details: ErrorDetails) -> str:
    value = details["input"]
    remedy = "; add its keys, or remove it" if value is None else ""
    return f"must be a section of keys, is {_echo(value)}{remedy}"


def _text(details: ErrorDetails) -> str:
    value = details["input"]
    quote = "; write it in quotes" if isinstance(value, int | float | date) and not isinstance(value, bool) else ""
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
    what = "characters" if isinstance(details["input"], str) else "entries"
    return f"must have at most {context['max_length']} {what}, has {context['actual_length']}"


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
    "finite_number": _must_be("a number"),
    "bool_type": _must_be("true or false"),
    "bool_parsing": _must_be("true or false"),
    "string_type": _text,
    "string_too_short": _must("have at least {min_length} characters"),
    "string_too_long": _must("have at most {max_length} characters"),
    "tuple_type": _list,
    "model_type": _keyed,
    "model_attributes_type": _keyed,
    "literal_error": _one_of,
    "enum": _one_of,
    "dict_type": _keyed,
    "too_short": _too_short,
    "too_long": _too_long,
}
