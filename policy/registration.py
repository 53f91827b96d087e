"""Rules about how resources are registered: providers, parents, protection, and the size of the graph."""

import re
from collections.abc import Iterator

from policy.graph import Graph, Resource
from policy.rule import Finding, rule

PROTECTED_TYPES = (
    "aws:ec2/vpc:Vpc",
    "aws:efs/fileSystem:FileSystem",
    "aws:eks/cluster:Cluster",
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:kms/key:Key",
    "aws:s3/bucket:Bucket",
)
"""What holds data, or takes everything with it."""

EDGES_PER_RESOURCE = 6


@rule(
    source="Pulumi: Default providers, `pulumi:disable-default-providers`; https://www.pulumi.com/docs/iac/concepts/resources/providers/",
    remedy="pass the stack's provider: ResourceOptions(provider=...), InvokeOptions(parent=self)",
)
def explicit_provider(graph: Graph) -> Iterator[Finding]:
    """Every resource and invoke uses a provider that the program registered (P4, P22)."""
    known = {each.urn for each in graph.resources.values() if each.is_provider and not _is_default(each)}
    for each in graph.resources.values():
        if each.custom and not each.is_provider and each.provider.rsplit("::", 1)[0] not in known:
            yield each.name, "uses the default provider; give its component the stack's provider"
    for call in graph.invokes:
        if call.provider.rsplit("::", 1)[0] not in known and not call.token.startswith("pulumi:"):
            yield call.token, "is invoked through the default provider; give the call the stack's provider"


def _is_default(provider: Resource) -> bool:
    """Whether the engine made a provider by itself, which it names after its version: default_7_51_1."""
    return re.fullmatch(r"default(_\d+)*", provider.name) is not None


@rule(
    source="Pulumi: Component resources; https://www.pulumi.com/docs/iac/concepts/resources/components/",
    remedy="make it with ResourceOptions(parent=self) and a name that begins with the component's",
)
def parented(graph: Graph) -> Iterator[Finding]:
    """Every resource belongs to a component, and its name starts with the component's (P2, P3)."""
    for each in graph.resources.values():
        above = graph.resources.get(each.parent)
        if each.is_provider or (above is None and not each.custom):
            continue
        if above is None:
            yield each.name, "has no component as its parent; make it a child of one"
        elif each.custom and not above.custom and above.parent and not each.name.startswith(f"{above.name}-"):
            yield (
                each.name,
                f"is a child of {above.name} but is not named after it; two of type {above.kind} would collide",
            )


@rule(
    source="Pulumi: protect; https://www.pulumi.com/docs/iac/concepts/options/protect/",
    remedy="give it ResourceOptions(protect=...) from lifecycle.protect",
)
def protected(graph: Graph) -> Iterator[Finding]:
    """In a protected stack, resources that hold data or that everything depends on are protected."""
    if graph.protected:
        for each in graph.of_type(*PROTECTED_TYPES):
            if not each.protect:
                yield each.name, "is not protected although lifecycle.protect is set"


@rule(
    source="Pulumi: dependsOn; https://www.pulumi.com/docs/iac/concepts/options/dependson/",
    remedy="depend on one sentinel, or on an output, in the place of every resource before it",
)
def few_edges(graph: Graph) -> Iterator[Finding]:
    """Order is expressed by references and sentinels, not by long dependency lists: engine time grows with edges."""
    edges = sum(len(each.depends_on) for each in graph.resources.values())
    if edges > EDGES_PER_RESOURCE * len(graph.resources):
        worst = max(graph.resources.values(), key=lambda each: len(each.depends_on))
        yield worst.name, f"{edges} dependencies among {len(graph.resources)} resources; this one has most of them"
