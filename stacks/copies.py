"""Copies from the object store to the shared file system, before the workloads that read them."""

from typing import NamedTuple

import pulumi

from components.storage.staged import Staged, StagedArgs
from components.storage.sums import Kind
from stacks.platform import Platform
from stacks.services import Services


class Copy(NamedTuple):
    """A copy to a directory of a claim (namespace, name): its kind, its name, its source and its budget in seconds.

    Where files are `compared` with their SHA256SUMS, as files of that kind, `sha256` is what that file must be, None
    where nobody said.
    """

    what: str
    name: str
    claim: tuple[str, str]
    directory: str
    source: str
    seconds: int
    compared: Kind | None = None
    sha256: str | None = None


def stage(
    copy: Copy,
    platform: Platform,
    services: Services,
    inside: pulumi.ResourceOptions,
    own: pulumi.Input[str] | None = None,
) -> Staged:
    """The copy, by an account that may read its source and nothing else: to the claim `own` of the same namespace where
    it has one.
    """
    name, namespace = f"{copy.what}-{copy.name}", services.namespaces[copy.claim[0]]
    granted = platform.objects.reader(
        f"{name}-identity", source=copy.source, namespace=namespace, account=name, opts=inside
    )
    args = StagedArgs(
        what=copy.what,
        name=copy.name,
        directory=copy.directory,
        source=copy.source,
        copier=platform.objects.copier,
        namespace=namespace,
        service_account=name,
        granted=granted,
        claim=services.claims[copy.claim] if own is None else own,
        ready=platform.cluster.ready,
        timeout_seconds=copy.seconds,
        compared=copy.compared,
        sha256=copy.sha256,
    )
    return Staged(name, args, inside)
