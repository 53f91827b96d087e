"""Creating, reading, updating and deleting one object as its row says."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jmespath

from rehearsal.awsmodels import input_shape
from rehearsal.plugins.aws.account import CallError, Deadline
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import PROPAGATION, Change, Row
from rehearsal.plugins.aws.shapes import member, request, to_request
from rehearsal.plugins.servicer import PluginError


def parameters(row: Row, operation: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a create or update call; raises InputError for an input that cannot be sent."""
    shape = input_shape(row.service, operation)
    unsent = {*row.local, "region", "tags", "tagsAll", row.prefix}
    prepared = row.prepare(dict(inputs)) if row.prepare else inputs
    sent = {name: value for name, value in prepared.items() if name not in unsent}
    # what a create call takes inside a structure, an update call may take at its top
    return request(shape, sent, row.names, row.inside if row.inside in shape.members else "")


def create_parameters(row: Row, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the create call, tags included; raises InputError."""
    made = parameters(row, row.creates, {name: value for name, value in inputs.items() if name not in row.apart})
    made |= row.constants
    tags = inputs.get("tagsAll")
    if row.tags and tags:
        shape = input_shape(row.service, row.creates)
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
    body = create_parameters(row, obj.inputs)
    if row.before:
        row.before(obj)
    reply = obj.patiently(row.unready, operation, **body)
    made = jmespath.search(path, reply) if path else reply
    if isinstance(made, Mapping):
        obj.known.update(made)
    obj.id = obj.identity()


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
            found = obj.search(call, **keys(obj, operation))
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
        obj.call(operation, **{**keys(obj, operation), **parameters(row, operation, values)})
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
                obj.call(row.delete, **keys(obj, row.delete))
            break
        except CallError as error:
            if error.not_found and describe(obj) is None:
                return
            if not error.matches(row.busy):
                raise
            if not obj.deadline.pause():
                raise PluginError(f"{obj.id} is still in use after {obj.deadline}; {error}") from None
    while row.lingers and (found := describe(obj)) is not None:
        status = str(jmespath.search(row.wait.status, found)) if row.wait else ""
        if "DELETE" in status and "FAILED" in status:
            raise PluginError(f"{obj.id} is {status}{reasons(obj, found)}")
        if not obj.deadline.pause():
            raise PluginError(f"{obj.id} is still there after {obj.deadline}{reasons(obj, found)}")


def keys(obj: Object, operation: str, *, every: bool = True) -> dict[str, Any]:
    """The members of this call that name the object; raises PluginError if one is not known, unless not ``every``
    one is needed."""
    shape = input_shape(obj.row.service, operation)
    values = {name: template for name, template in obj.row.key.items() if name in shape.members}
    if not every:
        values = {name: template for name, template in values.items() if obj.knows(template)}
    return {name: to_request(shape.members[name], obj.fill(value), {}, name) for name, value in values.items()}


def _or_empty(obj: Object, operation: str, name: str) -> Any:
    """The new value of an input; where it was left out, what empties it on the other side."""
    value = obj.inputs.get(name)
    if value is not None:
        return value
    shape = input_shape(obj.row.service, operation)
    found = member(shape, obj.row.names.get(name, name))
    if found is None or getattr(shape.members[found], "enum", None) or shape.members[found].metadata.get("min"):
        return None
    return {"list": [], "string": "", "boolean": False}.get(shape.members[found].type_name)


def _tags_with_create(obj: Object) -> bool:
    shape = input_shape(obj.row.service, obj.row.creates)
    return "TagSpecifications" in shape.members or member(shape, "tags") is not None
