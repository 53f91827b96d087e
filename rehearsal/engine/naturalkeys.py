"""How to find an AWS object whose creation was interrupted: by the name the program gave it, or by its tags.

What names an object, how such objects are listed and what their ids are made of stands in the row of its type
(rehearsal/plugins/aws/types); ids are those of the official provider.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jmespath

from rehearsal.plugins.aws import sdk
from rehearsal.plugins.aws.life import describe, keys
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.shapes import fold
from rehearsal.plugins.aws.table import ROWS
from rehearsal.plugins.aws.view import tags_of


class ForeignObjectError(Exception):
    """An object of this name exists, and something else made it; the text says what shows that."""


class NoNaturalKeyError(Exception):
    """The rehearsal has no row that says how objects of this type are found."""


def repeatable(token: str) -> bool:
    """Whether creating an object of this type again changes nothing, so that nothing has to be found."""
    return token in ROWS and ROWS[token].repeatable


def named(token: str) -> bool:
    """Whether the program's inputs name an object of this type; otherwise AWS makes its id up."""
    schema = sdk.schema(token)
    return schema is not None and ROWS[token].named_by <= schema.inputs.keys()


def by_tags(token: str) -> bool:
    """Whether tags alone tell objects of this type from each other."""
    return token in ROWS and not named(token) and not ROWS[token].unique


def find(obj: Object) -> list[str]:
    """Ids of the living objects that the interrupted create of these inputs may have made.

    Raises ForeignObjectError, NoNaturalKeyError, or PluginError for what AWS refuses and for a name that is missing.
    """
    own = obj.inputs.get("tags") or {}
    wanted = obj.account.settings.tags(own)
    if named(obj.token):
        found = describe(obj)
        if found is None or _going(obj, found):
            return []
        obj.id = obj.identity()
        tags = tags_of(obj, found)
        if tags and not wanted.items() <= tags.items():
            raise ForeignObjectError(f"{obj.id} exists with other tags than this stack's")
        return [obj.id]
    if by_tags(obj.token) and not own:
        raise NoNaturalKeyError("it carries no tags of its own, only those that every object of the stack has")
    return _listed(obj, wanted)


def _listed(obj: Object, wanted: Mapping[str, str]) -> list[str]:
    call = obj.row.listing or str(obj.row.read).removesuffix("[0]")
    ids = []
    for item in obj.list(call, **keys(obj, call.partition(" -> ")[0], every=False)):
        other = replace(obj, known=dict(item))
        other.id = other.identity()
        if _fits(other, item, wanted):
            ids.append(other.id)
    return ids


def _fits(other: Object, item: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    """Whether a listed object is alive and carries what the program gave it."""
    row = other.row
    if row.unique:
        have = {fold(name): value for name, value in item.items()}
        given = {fold(name): other.inputs[name] for name in row.unique if other.inputs.get(name)}
        return given.items() <= have.items()
    found = describe(other) if row.tags and row.tags.read else item
    if found is None or _going(other, found):
        return False
    return wanted.items() <= tags_of(other, found).items()


def _going(obj: Object, found: Mapping[str, Any]) -> bool:
    """Whether the object is no more, or soon will be, though the API still tells of it."""
    wait, gone = obj.row.wait, obj.row.gone
    if gone and jmespath.search(gone, found):
        return True
    return wait is not None and "delet" in str(jmespath.search(wait.status, found)).lower()
