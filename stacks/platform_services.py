"""Services of a platform that the contract asks for: storage, logs, names, secrets, images, people, hosts outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pulumi

from components.monitoring.monitors import Target
from components.platform.copying import Copier, StoreAddress
from components.storage.claims import ClaimSpec
from planner.said import ExternalSecret


class SharedFiles(Protocol):
    """A shared file system: that of the runs, or the one of people's own files."""

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        """Claim names by (namespace, claim), each resolving when the claim is there."""
        ...


class Snapshots(Protocol):
    """Snapshots of files, where a file system has them: names of classes, each once it is there. Of `files` are claims
    of volumes of their own, by `taken` a snapshot is made of one, and of `read` are claims that show it.
    """

    @property
    def files(self) -> pulumi.Output[str]: ...

    @property
    def taken(self) -> pulumi.Output[str]: ...

    @property
    def read(self) -> pulumi.Output[str]: ...


class LocalDisks(Protocol):
    """The nodes' own disks."""

    def volume(self, gb: int) -> Mapping[str, Any]:
        """Source of a pod's volume there of `gb` decimal GB at most, as pod specs write it."""
        ...


class ObjectStore(Protocol):
    """Object storage with the stack's own buckets, and the rights of service accounts in them.

    Its addresses are SCHEME://BUCKET/PREFIX.
    """

    @property
    def scheme(self) -> str: ...

    def bucket_of(self, purpose: str) -> pulumi.Output[str]:
        """The bucket for a purpose of `stacks.purposes`."""
        ...

    @property
    def copier(self) -> Copier: ...

    @property
    def address(self) -> StoreAddress:
        """Where programs with a client of their own ask it, in words of S3."""
        ...

    def prepare(self, namespaces: Mapping[str, pulumi.Output[str]], opts: pulumi.ResourceOptions) -> None:
        """Make in the namespaces, given by name, what every copier needs there, before the first right is asked for."""
        ...

    def reader(
        self, name: str, *, source: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        """Let pods of `account` read below the address `source`. The account's name resolves when they may."""
        ...

    def writer(
        self, name: str, *, prefix: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        """Let pods of `account` read and write below `prefix`, in the bucket of its purpose."""
        ...


@dataclass(frozen=True, kw_only=True)
class LogSink:
    """Where logs go: `outputs` are sections of Fluent Bit's configuration. Its pods run as `account`, whose name
    resolves when they may write there; `read` is what a person types to read them.
    """

    outputs: pulumi.Input[str]
    account: pulumi.Output[str]
    read: str


class LogStore(Protocol):
    """What keeps logs."""

    def sink(
        self, name: str, *, namespace: pulumi.Input[str], account: str, days: int, opts: pulumi.ResourceOptions
    ) -> LogSink:
        """Let pods of `account` write logs that are kept so many days."""
        ...


class Reader(Protocol):
    """What reads for Prometheus what no exporter of the cluster has."""

    def watch(self, *, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions) -> Target:
        """Register it; where its metrics are."""


class Zones(Protocol):
    """Zones of the platform's name service."""

    def writer(
        self,
        name: str,
        *,
        zone: str,
        hostnames: Sequence[str],
        namespace: pulumi.Input[str],
        account: str,
        opts: pulumi.ResourceOptions,
    ) -> pulumi.Output[str]:
        """Let pods of an account answer for the hostnames in a zone; its name, when new pods have the right."""
        ...

    def records(self, zone: str) -> Mapping[str, Any]:
        """What cert-manager is told of a zone (its documentation, ACME, DNS01)."""
        ...


class Front(Protocol):
    """Certificates at the platform's own load balancer."""

    def ending_tls(
        self,
        name: str,
        *,
        hostnames: Mapping[str, str],
        zone: str | None,
        certificate: str | None,
        opts: pulumi.ResourceOptions,
    ) -> Mapping[str, pulumi.Input[str]]:
        """Annotations by which a gateway's load balancer ends callers' TLS and goes on to the gateway by TLS.

        With a `zone` a certificate for the hostnames, by what is found there, is requested and validated in it;
        otherwise the existing `certificate` is shown. They resolve when it is issued. Empty where there is nothing to
        have one for.
        """
        ...


class Vault(Protocol):
    """What keeps secrets outside of the stack file. `provider` is what a SecretStore is told of it (external-secrets,
    SecretStoreProvider).
    """

    @property
    def provider(self) -> Mapping[str, Any]: ...

    def reader(
        self,
        name: str,
        *,
        secrets: Sequence[ExternalSecret],
        namespace: pulumi.Input[str],
        account: str,
        opts: pulumi.ResourceOptions,
    ) -> pulumi.Output[str]:
        """Let pods of an account read these secrets; its name, when new pods have the right."""
        ...


class PodFirewall(Protocol):
    """What the platform's own network keeps single pods to, beside NetworkPolicies."""

    def placed(
        self, name: str, namespaces: Mapping[str, pulumi.Output[str]], opts: pulumi.ResourceOptions
    ) -> Mapping[str, pulumi.Output[str]]:
        """Say it of pods of these namespaces; the namespaces, each when new pods of it are kept so."""
        ...


class Images(Protocol):
    """The platform's own registry. `provider` is its cloud, as Kyverno calls it."""

    @property
    def provider(self) -> str: ...

    def reader(
        self, name: str, *, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        """Let pods of an account read images and signatures; its name, when new pods have the right."""
        ...


class People(Protocol):
    """Who is known to the platform by themselves, not by a group of the identity provider."""

    def admit(self, name: str, principals: Mapping[str, Sequence[str]]) -> None:
        """Let people into the cluster, each principal as a member of groups that RBAC binds."""


class Hosts(Protocol):
    """A network that knows hosts outside by their names."""

    def reach(self, name: str, namespace: pulumi.Input[str], hosts: Sequence[str]) -> None:
        """Let pods of a namespace ask the name service, and these hosts at port 443; *.HOST are those below HOST."""
