"""Property values as the engine puts them on the wire, to and from plain Python values.

The engine sends ``google.protobuf.Struct`` in which some objects carry a signature key that says what they
stand for (sdk/go/common/resource/properties.go): a secret, an output, a resource reference, an asset or an archive.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from google.protobuf.struct_pb2 import ListValue, Struct, Value

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What a value looks like that is known only after an update."""

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key that marks an object as special; assets and archives keep it in decoded values."""

SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a signature, not a secret
OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e"
ASSET = "c44067f5952c0a294b673a41bacd8c17"
ARCHIVE = "0def7320c3a5731c473e5ecbe6d01bc7"

Path = tuple[str | int, ...]
"""Keys and list indices from the top of a property map down to one value."""


def decode(struct: Struct) -> tuple[dict[str, Any], set[Path]]:
    """Plain values of a property map, and the paths whose values were secret.

    Numbers without a fraction become ``int``; the bookkeeping that the engine and the SDKs add (top-level keys that
    begin with two underscores, ``__defaults`` anywhere) is left out; an asset or archive stays the object it came as.
    """
    secrets: set[Path] = set()
    fields = {key: _decode(value, (key,), secrets) for key, value in struct.fields.items() if not key.startswith("__")}
    return fields, secrets


def encode(value: Mapping[str, Any], secrets: Collection[Path] = ()) -> Struct:
    """The property map for the wire, with the values at ``secrets`` marked as secret.

    A path that leads into a value whose shape has changed marks the deepest part of it that still exists, so that
    nothing once secret is sent in clear; a path whose key is gone marks nothing.
    """
    marked = _closest(value, secrets)
    struct = Struct()
    for key, item in value.items():
        _encode(item, struct.fields[key], (key,), marked)
    return struct


def has_unknown(value: Any) -> bool:
    """Whether the value or any part of it is known only after an update."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(has_unknown(item) for item in value)
    return bool(value == UNKNOWN)


def without_unknowns(value: Any) -> Any:
    """The value with every unknown part left out; None when the value itself is unknown."""
    if isinstance(value, Mapping):
        return {key: without_unknowns(item) for key, item in value.items() if item != UNKNOWN}
    if isinstance(value, (list, tuple)):
        return [without_unknowns(item) for item in value if item != UNKNOWN]
    return None if value == UNKNOWN else value


def path_text(path: Path) -> str:
    """A path as Pulumi writes it: ``spec.ports[0].name``, ``metadata.labels["app.kubernetes.io/name"]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part and not any(character in part for character in '.[]"'):
            text += f".{part}" if text else part
        else:
            text += '["' + part.replace('"', '\\"') + '"]'
    return text


def _decode(value: Value, path: Path, secrets: set[Path]) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _decode_object(value.struct_value, path, secrets)
    if kind == "list_value":
        return [_decode(item, (*path, index), secrets) for index, item in enumerate(value.list_value.values)]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return None if kind in (None, "null_value") else getattr(value, kind)


def _decode_object(struct: Struct, path: Path, secrets: set[Path]) -> Any:
    fields = struct.fields
    signature = fields[SIGNATURE].string_value if SIGNATURE in fields else ""
    if signature == SECRET:
        secrets.add(path)
        return _decode(fields["value"], path, secrets)
    if signature == OUTPUT:
        if "secret" in fields and fields["secret"].bool_value:
            secrets.add(path)
        return _decode(fields["value"], path, secrets) if "value" in fields else UNKNOWN
    if signature == RESOURCE:
        reference = fields["id"] if "id" in fields else fields["urn"]
        return _decode(reference, path, secrets) or UNKNOWN  # the id of a resource not made yet is empty
    return {key: _decode(item, (*path, key), secrets) for key, item in fields.items() if key != "__defaults"}


def _encode(value: Any, target: Value, path: Path, secrets: set[Path]) -> None:
    if path in secrets:
        target.struct_value.fields[SIGNATURE].string_value = SECRET
        target = target.struct_value.fields["value"]
    if value is None:
        target.null_value = 0
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, (int, float)):
        target.number_value = value
    elif isinstance(value, str):
        target.string_value = value
    elif isinstance(value, Mapping):
        target.struct_value.SetInParent()
        for key, item in value.items():
            _encode(item, target.struct_value.fields[key], (*path, key), secrets)
    elif isinstance(value, (list, tuple)):
        items: ListValue = target.list_value
        items.SetInParent()
        for index, item in enumerate(value):
            _encode(item, items.values.add(), (*path, index), secrets)
    else:
        raise TypeError(f"{path_text(path)}: a {type(value).__name__} cannot be sent to the engine")


def _closest(value: Mapping[str, Any], secrets: Collection[Path]) -> set[Path]:
    """The secret paths, each cut back to the deepest part of it that exists in the value."""
    return {marked for path in secrets for marked in _cut(value, path)}


def _cut(value: Any, path: Path) -> Iterator[Path]:
    for depth, part in enumerate(path):
        if isinstance(value, Mapping):
            if part not in value:
                return
            value = value[part]
        elif isinstance(value, (list, tuple)) and isinstance(part, int) and part < len(value):
            value = value[part]
        elif value is not None:
            yield path[:depth]
            return
    yield path
