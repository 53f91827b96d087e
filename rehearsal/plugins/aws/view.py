"""An object as the SDK shows it: its outputs, and the inputs that would make it as it is now."""

import re
from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.compare import blank, formatted, pruned, same, settled
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.sdk import Schema
from rehearsal.plugins.aws.shapes import pairs, read_properties

AUTONAMED = re.compile(r".+-[0-9a-f]{7}")


def outputs(obj: Object, schema: Schema, found: Mapping[str, Any]) -> dict[str, Any]:
    """The properties the SDK declares, out of a description; inputs AWS does not tell stay as they are."""
    row = obj.row
    live = _live(obj, schema, found)
    made = {name: value for name, value in obj.inputs.items() if name in row.unseen + row.local + (row.prefix,)}
    for name, value in live.items():
        before = obj.inputs.get(name)
        made[name] = before if before is not None and _agrees(schema, name, before, value) else value
    return made


def inputs(obj: Object, schema: Schema, found: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that describe the object as it is now: the known ones where they still hold, else AWS's."""
    row = obj.row
    live = _live(obj, schema, found)
    if not obj.inputs:
        return _imported(obj, schema, live)
    kept = {}
    for name, before in obj.inputs.items():
        if name in row.unseen + row.local + (row.prefix, "region"):
            kept[name] = before
        elif _is_map(schema, name):
            kept[name] = before if before == live.get(name, {}) else live.get(name, {})
        elif (now := settled(before, live.get(name))) is not None or blank(before):
            kept[name] = now if now is not None else before
    return kept


def _imported(obj: Object, schema: Schema, live: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: pruned(live[name]) for name in schema.inputs if name in live and not blank(live[name])}
    if "region" in schema.inputs:
        made["region"] = obj.region
    if "tagsAll" in schema.outputs:
        made["tagsAll"] = live.get("tagsAll", {})
    naming = obj.row.autoname
    if naming and AUTONAMED.fullmatch(str(made.get(naming.input, ""))):
        made["__defaults"] = [naming.input]
    made["__imported"] = True
    return made


def _live(obj: Object, schema: Schema, found: Mapping[str, Any]) -> dict[str, Any]:
    """The declared properties as AWS has them now."""
    row = obj.row
    inner = found.get(row.inside) if row.inside else None
    reply = {**found, **(inner if isinstance(inner, Mapping) else {})}
    types = {name: type_ for name, type_ in schema.outputs.items() if name not in ("tags", "tagsAll")}
    types |= {name: type_ for name, type_ in schema.inputs.items() if name not in types and name != "tags"}
    live = read_properties(types, reply, row.names)
    if row.look:
        special = {name: value for name, value in row.look(obj, found).items() if name in types}
        live = {name: value for name, value in live.items() if name not in special}
        live |= read_properties(types, special, {name: name for name in special})
    live |= {name: formatted(live[name]) for name in row.documents if name in live}
    if row.arn and "arn" in schema.outputs:
        live["arn"] = obj.fill(row.arn)
    if "region" in schema.outputs:
        live["region"] = obj.region
    if row.tags:
        live |= _live_tags(obj, reply)
    return live


def _live_tags(obj: Object, reply: Mapping[str, Any]) -> dict[str, Any]:
    settings = obj.account.settings
    everything = {key: str(value) for key, value in tags_of(obj, reply).items() if not settings.ignores(key)}
    own = obj.inputs.get("tags") or {}
    defaults = settings.default_tags
    mine = {key: value for key, value in everything.items() if key in own or defaults.get(key) != value}
    return {"tagsAll": everything, "tags": mine}


def tags_of(obj: Object, reply: Mapping[str, Any]) -> dict[str, str]:
    """All tags of a described object; none for a type that has none."""
    tags = obj.row.tags
    if tags and tags.read:
        return dict(tags.read(obj))
    return pairs(reply.get("Tags") or reply.get("tags") or {})


def _agrees(schema: Schema, name: str, before: Any, now: Any) -> bool:
    if _is_map(schema, name):
        return bool(before == now)
    # an object whose members AWS completes is shown completed
    return bool(before == now) if isinstance(before, Mapping) else same(before, now)


def _is_map(schema: Schema, name: str) -> bool:
    type_ = schema.inputs.get(name) or schema.outputs.get(name)
    return type_ is not None and type_.kind == "map"
