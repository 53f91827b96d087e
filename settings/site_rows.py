"""Rows that a site adds to the catalogue: the same fields as the shipped ones, in camelCase.

The models are made from the catalogue's own row types, so that a field that is added there can be set here at once.
Every field is optional but `name`, because `like` may name a shipped row to start from; what is missing without it is
a finding, and so is a name (of a GPU, a card) that no row has.
"""

from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import date
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pydantic
from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from catalogue.site import KEYS, KINDS, NAMED
from settings.row_bounds import ENTRIES, MAY_BE_NOTHING, bounds
from settings.sections import Section
from settings.types import Day, Word

_MOST_ENTRIES = 256


class _Row(Section):
    """What every row has. `like` is a shipped row, whose fields are taken where this one says nothing."""

    name: Word
    like: Word | None = None


@cache
def _row_model(kind: type) -> type[_Row]:
    """The model of a table's rows: the row type's fields, each optional."""
    fields_: dict[str, Any] = {
        each.name: (_written(hint, kind, each.name) | None, None)
        for each, hint in _fields(kind)
        if each.name not in ("name", KEYS.get(kind, "name"))
    }
    return create_model(f"{kind.__name__}Row", __base__=_Row, __doc__=kind.__doc__, **fields_)


@cache
def _part_model(kind: type) -> type[Section]:
    """The model of a part that stands inside a row: optional is what has a default there."""
    fields_: dict[str, Any] = {
        each.name: (_written(hint, kind, each.name), ... if _required(each) else None) for each, hint in _fields(kind)
    }
    return create_model(f"{kind.__name__}Part", __base__=Section, __doc__=kind.__doc__, **fields_)


def _fields(kind: type) -> list[tuple[Field[Any], Any]]:
    hints = get_type_hints(kind)
    return [(each, hints[each.name]) for each in fields(kind) if each.init]


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _written(hint: Any, kind: type, field: str) -> Any:
    """The type in the stack file of a row type's field: rows by name, days quoted, numbers within their bounds."""
    if hint in NAMED or hint is str:
        return Word
    if hint is date:
        return Day
    if hint in (int, float):
        return _number(hint, kind, field)
    if isinstance(hint, type) and is_dataclass(hint):
        return _part_model(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if not inner:
        return hint
    if origin in (tuple, frozenset):
        listed = tuple.__class_getitem__((_written(inner[0], kind, field), Ellipsis))
        return Annotated[listed, pydantic.Field(min_length=ENTRIES.get(field, 0), max_length=_MOST_ENTRIES)]
    return reduce(or_, (_written(part, kind, field) for part in inner))


def _number(hint: type, kind: type, field: str) -> Any:
    low, high = bounds(kind, field)
    if hint is float and low == 0 and field not in MAY_BE_NOTHING:
        return Annotated[float, pydantic.Field(gt=0, le=high)]
    return Annotated[hint, pydantic.Field(ge=low, le=high)]


@dataclass(frozen=True)
class Rows:
    """Metadata for the rows of one table. Their model is made when a stack file has such rows: few have any."""

    table: str

    @property
    def model(self) -> type[_Row]:
        """What a row of the table is read as."""
        return _row_model(KINDS[self.table])

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(lambda value: _rows(self.model).validate_python(value))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(_rows(self.model).core_schema)


@cache
def _rows(model: type[_Row]) -> TypeAdapter[tuple[_Row, ...]]:
    return TypeAdapter(tuple[model, ...])  # type: ignore[valid-type]


class SiteRows(Section):
    """A site's own rows, by table."""

    gpus: Annotated[tuple[_Row, ...], Rows("gpus")] = ()
    instances: Annotated[tuple[_Row, ...], Rows("instances")] = ()
    servers: Annotated[tuple[_Row, ...], Rows("servers")] = ()
    nics: Annotated[tuple[_Row, ...], Rows("nics")] = ()
    switches: Annotated[tuple[_Row, ...], Rows("switches")] = ()
    storage_servers: Annotated[tuple[_Row, ...], Rows("storage_servers")] = ()
    models: Annotated[tuple[_Row, ...], Rows("models")] = ()
    prices: Annotated[tuple[_Row, ...], Rows("services")] = ()
    rates: Annotated[tuple[_Row, ...], Rows("rates")] = ()
    parts: Annotated[tuple[_Row, ...], Rows("parts")] = ()
    images: Annotated[tuple[_Row, ...], Rows("images")] = ()

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """The rows as plain data with the catalogue's field names, and only what was written."""
        return {
            table: [_plain(row) for row in rows]
            for table, rows in ((name, getattr(self, name)) for name in type(self).model_fields)
            if rows
        }


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return {name: _plain(getattr(value, name)) for name in value.model_fields_set}
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    return value
