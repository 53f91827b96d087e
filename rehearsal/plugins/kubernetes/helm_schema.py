"""Checks rendered objects against what an API server serves at that moment, before anything of a release is done.

Helm builds every object from discovery first, so a kind that is not served ends the operation (pkg/kube/client.go,
Build). Whether it looks at the fields too depends on the server: kubectl's validator, which it asks to be strict,
leaves that to a server that knows `fieldValidation` (k8s.io/kubectl, pkg/validation/schema.go, paramVerifyingSchema),
and Helm's own requests do not ask such a server to be strict: a field that the installed definition lacks is dropped
with a warning. Here it is refused, always (rehearsal/docs/adr/0012).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.objects import Object, dig, title

_DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_SERVERS_OWN = ("apiVersion", "kind", "metadata", "status")


class Schemas:
    """The schemas of one API server, each fetched once."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._built_in: dict[str, Mapping[str, Any]] = {}
        self._custom: dict[tuple[str, str], Mapping[str, Any]] | None = None

    def problems(self, objects: Iterable[Object]) -> list[str]:
        """One sentence per field that the server does not know or that has the wrong type or value."""
        return [f"{title(obj)}: {text}" for obj in objects for text in self._of(obj)]

    def _of(self, obj: Object) -> Iterator[str]:
        if "CustomResourceDefinition" in obj["kind"]:  # its schemas are schemas themselves; the server checks them
            return
        schema, parts = self._schema(obj["apiVersion"], obj["kind"])
        content = {key: value for key, value in obj.items() if key not in _SERVERS_OWN}
        own = {**schema, "required": [key for key in schema.get("required") or [] if key not in _SERVERS_OWN]}
        yield from _wrong(own, content, obj["kind"], parts)

    def _schema(self, api_version: str, kind: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The kind's schema and what its references lead to; an empty one accepts everything."""
        group, _, version = api_version.rpartition("/")
        if self._custom is None:
            self._custom = {
                (f"{each['spec']['group']}/{served['name']}", each["spec"]["names"]["kind"]): served
                for each in self._kube.list(*_DEFINITION)
                for served in each["spec"]["versions"]
            }
        if (api_version, kind) in self._custom:
            return dig(self._custom[api_version, kind], "schema", "openAPIV3Schema", default={}), {}
        if api_version not in self._built_in:
            try:
                path = f"/openapi/v3/{'apis' if group else 'api'}/{api_version}"
                self._built_in[api_version] = dig(self._kube.call("GET", path), "components", "schemas", default={})
            except ApiError as error:
                if error.code != 404:
                    raise
                self._built_in[api_version] = {}
        parts = self._built_in[api_version]
        identity = {"group": group, "kind": kind, "version": version}
        found = (each for each in parts.values() if identity in each.get("x-kubernetes-group-version-kind", []))
        return next(found, {}), parts


def _wrong(schema: Mapping[str, Any], value: Any, path: str, parts: Mapping[str, Any]) -> Iterator[str]:
    schema = _resolved(schema, parts)
    if value is None or schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return
    if "oneOf" in schema or "anyOf" in schema:  # quantities and the like: the server looks at them
        return
    kind = schema.get("type")
    if kind and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind in ("integer", "number"))):
        if not (kind == "integer" and isinstance(value, float) and value.is_integer()):
            yield f"{path} must be of type {kind}, not {value!r:.60}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} must be one of {', '.join(map(str, schema['enum']))}, not {value!r:.60}"
    if isinstance(value, dict):
        yield from _wrong_fields(schema, value, path, parts)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _wrong(schema.get("items") or {}, item, f"{path}[{index}]", parts)


def _wrong_fields(
    schema: Mapping[str, Any], value: Mapping[str, Any], path: str, parts: Mapping[str, Any]
) -> Iterator[str]:
    fields, more = schema.get("properties") or {}, schema.get("additionalProperties")
    free = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource")
    for key, item in value.items():
        if key in fields:
            yield from _wrong(fields[key], item, f"{path}.{key}", parts)
        elif isinstance(more, Mapping):
            yield from _wrong(more, item, f"{path}.{key}", parts)
        elif fields and not free and not more:
            yield f"unknown field {path}.{key}"
    for key in schema.get("required") or []:
        if value.get(key) is None:
            yield f"{path}.{key} is missing"


def _resolved(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema behind `$ref`, also where it stands in `allOf`, as in all of Kubernetes' own."""
    for step in (schema, *(schema.get("allOf") or [])):
        if "$ref" in step:
            found: Mapping[str, Any] = parts.get(step["$ref"].rpartition("/")[2], {})
            return found
    return schema
