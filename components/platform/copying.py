"""Containers that copy between an object store and the shared file system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pulumi
import pulumi_kubernetes as k8s

from components.platform.confinement import confined

COPY, LOOK = {"cpu": "1", "memory": "1Gi"}, {"cpu": "100m", "memory": "256Mi"}
"""What a container asks for that copies, and one that asks a store one thing."""

ClientValue = pulumi.Input[str] | k8s.core.v1.EnvVarSourceArgs
"""A client's variable: plain, or out of a Secret."""


@dataclass(frozen=True, kw_only=True)
class StoreAddress:
    """Where a store's S3 API is asked, as https://HOST or http://HOST:PORT, and the region that requests are signed
    for."""

    endpoint: pulumi.Input[str]
    region: str


class Copier(Protocol):
    """An image with an object store's client and a shell, and what is typed into that shell.

    Addresses end without a slash; directories and addresses that are stored to may be variables in double quotes.
    """

    @property
    def image(self) -> str: ...

    @property
    def env(self) -> Mapping[str, ClientValue]: ...

    def look(self, source: str) -> str:
        """Succeeds where an object lies below `source`, and prints nothing."""
        ...

    def fetch(self, source: str, directory: str) -> list[str]:
        """The program and its arguments that copy what lies below `source` into `directory`."""
        ...

    def store(self, directory: str, target: str, *, but: str) -> str:
        """Copies `directory`, but for the file `but`, to `target`; the store checks what arrives."""
        ...

    def store_file(self, file: str, target: str) -> str:
        """Copies one file to the address `target`; the store checks what arrives."""
        ...

    def stored(self, file: str, target: str) -> str:
        """Succeeds where the object at the address `target` is the text of `file`, and prints nothing."""
        ...

    def clear(self, target: str, *, but: str) -> str:
        """Takes away what lies below `target`, but for the object `but`, if that is there; else nothing."""
        ...


def copying_container(
    copier: Copier,
    name: str,
    command: list[str],
    *,
    env: Sequence[k8s.core.v1.EnvVarArgs] = (),
    asked: Mapping[str, str] = COPY,
    **rest: Any,
) -> k8s.core.v1.ContainerArgs:
    """One of the copier's image that says in its pod's status what it printed last, if it fails. It gets what it has
    `asked` for, and more where its node has it.
    """
    core = k8s.core.v1
    clients = [_variable(name, value) for name, value in sorted(copier.env.items())]
    return core.ContainerArgs(
        name=name,
        image=copier.image,
        command=command,
        env=[*clients, *env] or None,
        termination_message_policy="FallbackToLogsOnError",
        resources=core.ResourceRequirementsArgs(requests=dict(asked), limits={"cpu": "2", "memory": "2Gi"}),
        security_context=confined(),
        **rest,
    )


def _variable(name: str, value: ClientValue) -> k8s.core.v1.EnvVarArgs:
    if isinstance(value, k8s.core.v1.EnvVarSourceArgs):
        return k8s.core.v1.EnvVarArgs(name=name, value_from=value)
    return k8s.core.v1.EnvVarArgs(name=name, value=value)
