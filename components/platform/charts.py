"""A vendor's Helm chart as one `helm.v3.Release`: hooks run, and a preview needs no cluster (KJ15)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class ChartSource:
    """Where a chart comes from: exact `version`, and the repository's address. `images` are values of the chart that
    say where its images come from, if not from their makers; they lie over others. `package` is a file with the
    chart, which is taken in the repository's place.
    """

    name: str
    version: str
    repository: str
    images: Mapping[str, Any] = field(default_factory=dict)
    package: str | None = None


@dataclass(frozen=True, kw_only=True)
class ChartArgs:
    """`timeout_seconds` covers the chart's own pods becoming ready. What is in `after` comes first: CRDs, nodes."""

    source: ChartSource
    namespace: pulumi.Input[str]
    values: Mapping[str, Any] = field(default_factory=dict)
    timeout_seconds: int = 600
    after: pulumi.Resource | Sequence[pulumi.Resource] | None = None


class Chart(Component):
    """A release named like its chart. A failed install or upgrade is rolled back and leaves its name free."""

    release: k8s.helm.v3.Release

    def __init__(self, name: str, args: ChartArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.release = k8s.helm.v3.Release(
            self.named("release"),
            name=args.source.name,
            chart=args.source.package or (_address(args.source) if _registry(args.source) else args.source.name),
            version=args.source.version,
            # The provider looks at the disk only where no repository is named (helm_release.go, locateChart).
            repository_opts=None
            if args.source.package or _registry(args.source)
            else k8s.helm.v3.RepositoryOptsArgs(repo=args.source.repository),
            namespace=args.namespace,
            create_namespace=False,
            values=laid(args.values, args.source.images),
            atomic=True,
            cleanup_on_fail=True,
            skip_await=False,
            timeout=args.timeout_seconds,
            opts=self.child(
                depends_on=[args.after] if isinstance(args.after, pulumi.Resource) else args.after,
                # The engine must outwait Helm, or a rollback is cut off half way.
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{args.timeout_seconds + 120}s", update=f"{args.timeout_seconds + 120}s", delete="10m"
                ),
            ),
        )
        self.register_outputs({"version": args.source.version})


def _registry(source: ChartSource) -> bool:
    """Whether it lies in a registry of images, where an address names the chart, and there is no index (Helm, "Use
    OCI-based registries").
    """
    return source.repository.startswith("oci://")


def _address(source: ChartSource) -> str:
    return f"{source.repository}/{source.name}"


def laid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a chart with others over them, as Helm lays a second file over a first. Pure."""

    def over(key: str) -> Any:
        one, other = below.get(key), above[key]
        return laid(one, other) if isinstance(one, Mapping) and isinstance(other, Mapping) else other

    return {**below, **{key: over(key) for key in above}}
