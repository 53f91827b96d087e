"""Creating, reading, updating and deleting one object as its row says."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jmespath

from ..servicer import PluginError
from .account import CallError, Deadline
from .compare import blank, pruned, same, settled
from .row import PROPAGATION, Change, Object
from .sdk import Schema
from .shapes import member, pairs, read_properties, request, to_request

AUTONAMED = re.compile(r".+-[0-9a-f]{7}")


def parameters(obj: Object, call: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a create or update call; raises InputError for an input that cannot be sent."""
    row = obj.row
    shape = obj.account.shape(row.service, call.partition(" -> ")[0])
    unsent = {*row.local, "region", "tags", "tagsAll", row.prefix}
    prepared = row.prepare(dict(inputs)) if row.prepare else inputs
    sent = {name: value for name, value in prepared.items() if name not in unsent}
    return request(shape, sent, row.names, row.inside)


def create_parameters(obj: Object) -> dict[str, Any]:
    """The parameters of the create call, tags included."""
    row = obj.row
    made = parameters(obj, row.create, {name: value for name, value in obj.inputs.items() if name not in row.apart})
    made |= row.constants
    tags = obj.inputs.get("tagsAll")
    if row.tags and tags:
        shape = obj.account.shape(row.service, row.create.partition(" -> ")[0])
        if "TagSpecifications" in shape.members:
            specification = {"resourceType": row.tags.ec2_type, "tags": tags}
            value = to_request(shape.members["TagSpecifications"], specification, {}, "tags")
            made["TagSpecifications"] = made.get("TagSpecifications", []) + value
        elif name := member(shape, "tags"):
            made[name] = to_request(shape.members[name], tags, {}, "tags")
    return made


def create(obj: Object) -> None:
    """Makes the object: afterwards ``obj.id`` is set. Raises CallError if it exists already or AWS refuses it."""
    row = obj.row
    if row.autoname and obj.inputs.get(row.prefix) and not obj.inputs.get(row.autoname.input):
        # a made-up name with the given beginning and 26 digits, as Terraform's id.PrefixedUniqueId makes it
        stamp = f"{datetime.now(UTC):%Y%m%d%H%M%S%f}{secrets.randbelow(10**6):06d}"
        obj.inputs[row.autoname.input] = f"{obj.inputs[row.prefix]}{stamp}"
    operation, _, path = row.create.partition(" -> ")
    body = create_parameters(obj)
    if row.before:
        row.before(obj)
    patience = Deadline(PROPAGATION, obj.account.cancelled)
    while True:
        try:
            reply = obj.call(operation, **body)
            break
        except CallError as error:
            if not _matches(error, row.unready) or not patience.pause():
                raise
    made = jmespath.search(path, reply) if path else reply
    if isinstance(made, Mapping):
        obj.known.update(made)
    obj.id = row.id(obj) if callable(row.id) else obj.fill(row.id)


def finish(obj: Object) -> dict[str, Any]:
    """All that follows a create, and all that is done again after one that half failed; returns the description."""
    row = obj.row
    if row.tags and not _tags_with_create(obj) and obj.inputs.get("tagsAll"):
        row.tags.write(obj, obj.inputs["tagsAll"], [])
    if row.after:
        row.after(obj, Change(first=True))
    return ready(obj)


def ready(obj: Object) -> dict[str, Any]:
    """The description as soon as the object is usable; raises PluginError with AWS's reasons if it never will be."""
    wait = obj.row.wait
    appearing = Deadline(min(PROPAGATION, obj.deadline.seconds), obj.account.cancelled)
    while True:
        found = describe(obj)
        if found is None:
            if not appearing.pause():
                raise PluginError(f"{obj.id} cannot be found after it was made")
            continue
        status = str(jmespath.search(wait.status, found)) if wait else ""
        if wait is None or status in wait.done:
            return found
        why = reasons(obj, found)
        if status in wait.failed:
            raise PluginError(f"{obj.id} is {status}{why}")
        if not obj.deadline.pause():
            raise PluginError(f"{obj.id} is still {status} after {obj.deadline}{why}")


def describe(obj: Object) -> dict[str, Any] | None:
    """What the API tells of the object, or None if it is not there; members become known to templates."""
    row = obj.row
    try:
        if callable(row.read):
            found = row.read(obj)
        else:
            operation, _, path = row.read.partition(" -> ")
            call = f"{operation} -> {obj.fill(path)}" if path else operation
            found = obj.search(call, **_keyed(obj, operation))
    except CallError as error:
        if error.not_found:
            return None
        raise
    if not found or (row.gone and jmespath.search(row.gone, found)):
        return None
    obj.known.update(found)
    return dict(found)


def reasons(obj: Object, found: Mapping[str, Any]) -> str:
    """AWS's own explanation of an object's state, as the end of a sentence; empty if it gives none."""
    wait = obj.row.wait
    why = jmespath.search(wait.why, found) if wait and wait.why else None
    texts = why if isinstance(why, list) else [why]
    return "".join(f"; {text}" for text in texts if text)


def update(obj: Object, change: Change, tags: tuple[Mapping[str, str], Mapping[str, str]]) -> dict[str, Any]:
    """Brings the object to its new inputs; ``tags`` are all tags before and after. Returns the description."""
    row = obj.row
    for operation, names in row.updates:
        if change.keys.isdisjoint(names):
            continue
        values = {name: _or_empty(obj, operation, name) for name in names}
        obj.call(operation, **{**_keyed(obj, operation), **parameters(obj, operation, values)})
    if row.after:
        row.after(obj, change)
    before, after = tags
    added = {key: value for key, value in after.items() if before.get(key) != value}
    removed = sorted(before.keys() - after.keys())
    if row.tags and (added or removed):
        describe(obj)  # the call may want what only the description tells
        row.tags.write(obj, added, removed)
    found = describe(obj)
    if found is None:
        raise PluginError(f"{obj.id} is gone; run `pulumi refresh` to learn what else is")
    return found


def delete(obj: Object) -> None:
    """Removes the object and waits until it is gone; one that is gone already is no error."""
    row = obj.row
    while True:
        try:
            if callable(row.delete):
                row.delete(obj)
            else:
                obj.call(row.delete, **_keyed(obj, row.delete))
            break
        except CallError as error:
            if error.not_found and describe(obj) is None:
                return
            if not _matches(error, row.busy):
                raise
            if not obj.deadline.pause():
                raise PluginError(f"{obj.id} is still in use after {obj.deadline}; {error}") from None
    while row.lingers and (found := describe(obj)) is not None:
        status = str(jmespath.search(row.wait.status, found)) if row.wait else ""
        if "DELETE" in status and "FAILED" in status:
            raise PluginError(f"{obj.id} is {status}{reasons(obj, found)}")
        if not obj.deadline.pause():
            raise PluginError(f"{obj.id} is still there after {obj.deadline}{reasons(obj, found)}")


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
    if row.arn:
        live["arn"] = obj.fill(row.arn)
    if "region" in schema.outputs:
        live["region"] = obj.region
    if row.tags:
        live |= _live_tags(obj, reply)
    return live


def _live_tags(obj: Object, reply: Mapping[str, Any]) -> dict[str, Any]:
    tags = obj.row.tags
    assert tags is not None  # noqa: S101 - the caller has looked
    raw = tags.read(obj) if tags.read else pairs(reply.get("Tags") or reply.get("tags") or {})
    settings = obj.account.settings
    everything = {key: str(value) for key, value in raw.items() if not settings.ignores(key)}
    own = obj.inputs.get("tags") or {}
    defaults = settings.default_tags
    mine = {key: value for key, value in everything.items() if key in own or defaults.get(key) != value}
    return {"tagsAll": everything, "tags": mine}


def _agrees(schema: Schema, name: str, before: Any, now: Any) -> bool:
    if _is_map(schema, name):
        return bool(before == now)
    # an object whose members AWS completes is shown completed
    return bool(before == now) if isinstance(before, Mapping) else same(before, now)


def _is_map(schema: Schema, name: str) -> bool:
    type_ = schema.inputs.get(name) or schema.outputs.get(name)
    return type_ is not None and type_.kind == "map"


def _keyed(obj: Object, operation: str) -> dict[str, Any]:
    """The members of this call that name the object."""
    shape = obj.account.shape(obj.row.service, operation)
    keys = {name: value for name, value in obj.keys().items() if name in shape.members}
    return {name: to_request(shape.members[name], value, {}, name) for name, value in keys.items()}


def _or_empty(obj: Object, operation: str, name: str) -> Any:
    """The new value of an input; where it was left out, what empties it on the other side."""
    value = obj.inputs.get(name)
    if value is not None:
        return value
    shape = obj.account.shape(obj.row.service, operation)
    found = member(shape, obj.row.names.get(name, name))
    if found is None or getattr(shape.members[found], "enum", None):
        return None
    return {"list": [], "string": "", "boolean": False}.get(shape.members[found].type_name)


def _tags_with_create(obj: Object) -> bool:
    shape = obj.account.shape(obj.row.service, obj.row.create.partition(" -> ")[0])
    return "TagSpecifications" in shape.members or member(shape, "tags") is not None


def _matches(error: CallError, patterns: tuple[str, ...]) -> bool:
    return any(re.search(pattern, str(error)) for pattern in patterns)
