"""The environment, command and arguments of a container, resolved as a kubelet does before it creates the container."""

import base64
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rehearsal.kube.quantities import parse

Object = Mapping[str, Any]
Find = Callable[[str, str, str], Object | None]
_REFERENCE = re.compile(r"\$(\$?)\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")


class ConfigError(Exception):
    """CreateContainerConfigError: something the environment refers to does not exist."""


def resolve(pod: Object, container: Object, find: Find, node: Object, addresses: Mapping[str, str]) -> dict[str, str]:
    """The environment. `find(store, name, namespace)` looks into "configmaps" and "secrets"; `addresses` has the values
    of the `status.*` fields. Raises ConfigError with kubelet's sentence.
    """
    result: dict[str, str] = {}
    namespace = pod["metadata"]["namespace"]
    for source in container.get("envFrom") or []:
        prefix = source.get("prefix") or ""
        store, reference = _store(source, "configMapRef", "secretRef")
        found = find(store, reference["name"], namespace)
        if found is None and not reference.get("optional"):
            raise ConfigError(f'{store[:-1]} "{reference["name"]}" not found')
        result.update({prefix + key: value for key, value in data(found or {}).items()})
    for variable in container.get("env") or []:
        if variable.get("valueFrom"):
            value = _from(variable["valueFrom"], pod, container, find, node, addresses)
            if value is not None:
                result[variable["name"]] = value
        else:
            result[variable["name"]] = expand(str(variable.get("value") or ""), result)
    return result


def _from(
    source: Object, pod: Object, container: Object, find: Find, node: Object, addresses: Mapping[str, str]
) -> str | None:
    if "fieldRef" in source:
        return field(pod, source["fieldRef"]["fieldPath"], addresses)
    if "resourceFieldRef" in source:
        return _resource(source["resourceFieldRef"], container, node)
    namespace = pod["metadata"]["namespace"]
    store, reference = _store(source, "configMapKeyRef", "secretKeyRef")
    found = find(store, reference["name"], namespace)
    kind = "Secret" if store == "secrets" else "ConfigMap"
    if found is None:
        if reference.get("optional"):
            return None
        raise ConfigError(f'{store[:-1]} "{reference["name"]}" not found')
    values = data(found)
    if reference["key"] not in values:
        if reference.get("optional"):
            return None
        raise ConfigError(f"couldn't find key {reference['key']} in {kind} {namespace}/{reference['name']}")
    return values[reference["key"]]


def _store(source: Object, configmap: str, secret: str) -> tuple[str, Object]:
    return ("configmaps", source[configmap]) if source.get(configmap) else ("secrets", source[secret])


def data(obj: Object) -> dict[str, str]:
    """The text entries of a ConfigMap or Secret."""
    values = {key: str(value) for key, value in (obj.get("data") or {}).items()}
    if obj.get("kind") == "Secret":
        values = {key: base64.b64decode(value).decode(errors="replace") for key, value in values.items()}
    return values


def field(pod: Object, path: str, addresses: Mapping[str, str]) -> str:
    """A pod field of the downward API ("metadata.name", "metadata.labels['a']", "status.podIP", ...)."""
    if path in addresses:
        return addresses[path]
    if keyed := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path):
        return str((pod["metadata"].get(keyed[1]) or {}).get(keyed[2], ""))
    value: Any = pod
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


def _resource(reference: Object, container: Object, node: Object) -> str:
    """A limit or request; a limit that is not set is what the node can give."""
    side, _, name = reference["resource"].partition(".")
    amount = ((container.get("resources") or {}).get(side) or {}).get(name)
    if amount is None:
        amount = node["status"]["allocatable"].get(name, "0") if side == "limits" else "0"
    divisor = parse(reference.get("divisor") or 1) or 1
    return str(math.ceil(parse(amount) / divisor))


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replaces `$(NAME)`; an unknown name stays as it is, `$$(NAME)` means `$(NAME)`."""

    def replace(found: re.Match[str]) -> str:
        if found[1]:
            return f"$({found[2]})"
        return env.get(found[2], found[0])

    return _REFERENCE.sub(replace, text)


def words(parts: Sequence[str] | None, env: Mapping[str, str]) -> list[str]:
    """A container's command or args with its variables replaced."""
    return [expand(part, env) for part in parts or []]
