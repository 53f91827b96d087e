"""What a container is told: its variables, the words of its command, the flags among them."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from policy.graph import Graph
from policy.pods import Pod, is_kubernetes

_ASSIGNMENT = re.compile(r"""(?:^|[\s;&|("'])([A-Za-z_]\w*)=("[^"]*"|'[^']*'|[^\s;&|)"']*)""")


_SECONDS = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?")


def seconds(text: Any) -> int:
    """Seconds of a duration: 90, 300s, 5m, 1h30m; 0 where it is none."""
    parts = _SECONDS.fullmatch(str(text).strip())
    hours, minutes, rest = (int(each or 0) for each in parts.groups()) if parts else (0, 0, 0)
    return hours * 3600 + minutes * 60 + rest


def words(container: Mapping[str, Any]) -> list[str]:
    """Command and arguments, as they stand there: a script is one word."""
    return [str(each) for key in ("command", "args") for each in container.get(key) or []]


def tokens(container: Mapping[str, Any]) -> list[str]:
    """Command and arguments with the scripts among them taken apart, as a shell would."""
    return [token for word in words(container) for token in _split(word)]


def _split(word: str) -> list[str]:
    if not re.search(r"\s", word):
        return [word]
    try:
        return shlex.split(word.replace(";", " ; "), comments=True)
    except ValueError:
        return word.split()


def flags(container: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, value) of every flag: --name=value, --name value, -name=value; the name in kebab-case, without dashes."""
    given = tokens(container)
    found = []
    for index, each in enumerate(given):
        if re.match(r"--?[A-Za-z]", each):
            name, equals, value = each.partition("=")
            after = given[index + 1] if index + 1 < len(given) else ""
            if not equals and not after.startswith("-"):
                value = after
            found.append((name.lstrip("-").replace("_", "-"), value))
    return found


def flag(container: Mapping[str, Any], *names: str) -> str | None:
    """The value of the last flag of one of these names, None without one."""
    return next((value for name, value in reversed(flags(container)) if name in names), None)


def assigned(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, value) of what the words assign: env NAME=value, export NAME=value, mpirun -x NAME=value."""
    for word in words(container):
        yield from assignments(word)


def assignments(text: str) -> Iterator[tuple[str, str]]:
    """(name, value) of what a text assigns."""
    for name, value in _ASSIGNMENT.findall(text):
        yield name, value.strip("\"'")


def mounted(graph: Graph, pod: Pod) -> Iterator[str]:
    """The texts of the ConfigMaps that a pod mounts: scripts, and files like nccl.conf."""
    for volume in pod.spec.get("volumes") or []:
        if source := volume.get("configMap"):
            yield from map(str, _config(graph, pod, source.get("name")).values())


def environment(graph: Graph, pod: Pod, container: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """(name, value) of a container's variables, from wherever the graph knows them; None is a value from elsewhere."""
    for each in container.get("env") or []:
        source = (each.get("valueFrom") or {}).get("configMapKeyRef")
        if source:
            yield each["name"], _config(graph, pod, source.get("name")).get(source.get("key"))
        else:
            yield each.get("name", ""), None if "valueFrom" in each else str(each.get("value") or "")
    for each in container.get("envFrom") or []:
        config = _config(graph, pod, (each.get("configMapRef") or {}).get("name"))
        yield from ((f"{each.get('prefix') or ''}{name}", str(value)) for name, value in config.items())


def variables(graph: Graph, pod: Pod, container: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """A container's environment, and what its words assign."""
    yield from environment(graph, pod, container)
    yield from assigned(container)


def _config(graph: Graph, pod: Pod, name: str | None) -> Mapping[str, Any]:
    for each in graph.of_type("ConfigMap"):
        metadata = each.inputs.get("metadata") or {}
        if is_kubernetes(each) and (metadata.get("namespace", "default"), metadata.get("name")) == (
            pod.namespace,
            name,
        ):
            data: Mapping[str, Any] = each.inputs.get("data") or {}
            return data
    return {}
