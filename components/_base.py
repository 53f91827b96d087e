"""What every component shares: its type token, its children's options and names, physical names and tags."""

import hashlib
from typing import Any

import pulumi


def physical_name(*parts: str, limit: int) -> str:
    """Join `parts` with '-' into a name of at most `limit` characters.

    A longer name keeps its beginning and ends in eight hex digits of its own SHA-256, so two names that differ only
    where one is cut stay different.
    """
    name = "-".join(parts)
    if len(name) <= limit:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: limit - 9].rstrip('-.')}-{digest}"


class Component(pulumi.ComponentResource):
    """A Pulumi component whose token is `gpucluster:index:<Class>` and whose children are named after it."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(f"gpucluster:index:{type(self).__name__}", name, {}, opts)

    def child(self, **options: Any) -> pulumi.ResourceOptions:
        """Options of a child resource. Made afresh: the caller's own options describe the component, not its parts."""
        return pulumi.ResourceOptions(parent=self, **options)

    def named(self, role: str) -> str:
        """Logical name of the child that plays `role`. URNs hold a parent's type only, so the name must be in it."""
        return f"{self.pulumi_resource_name}-{role}"

    def physical(self, role: str, *, limit: int) -> str:
        """Name outside Pulumi: project, stack and role, so that two stacks fit into one account."""
        return physical_name(pulumi.get_project(), pulumi.get_stack(), role, limit=limit)

    def tags(self, role: str, **tags: str) -> dict[str, str]:
        """Tags of the child that plays `role`; `Name` is its logical name, by which a lost resource is found again."""
        return {"Name": self.named(role), **tags}
