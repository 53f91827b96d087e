"""Models, adapters and repositories that servers read: copied to the shared file system, or on a claim."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pulumi
import pulumi_kubernetes as k8s

from components.serving.arguments import Directory
from components.serving.hub import HubCopy, HubCopyArgs
from components.serving.tokens import SecretKey
from components.storage import sums
from components.storage.staged import MODELS, Staged
from components.storage.sums import Kind
from planner.external_secrets import HUB_SECRET
from planner.serving.startup import ClaimSource, HubSource, ObjectSource, source_of
from planner.types import Plan
from planner.workload_types import ServicePlan, TritonPlan
from stacks.copies import Copy, stage
from stacks.platform import Platform
from stacks.services import WEIGHTS, Services

HUB_TOKEN = "hf-token"  # noqa: S105 - a name
TOKENS = {HUB_TOKEN: HUB_SECRET}
"""Secrets of the stack file by the name of the Secret that holds them."""

ADAPTERS, REPOSITORIES, SHARED = "adapters", "triton", "models"
"""Directories of the shared file system, and the name of that volume in a server's pod."""


def asks_hub(plan: Plan) -> bool:
    """Whether a model, an adapter or a repository comes from the hub: nobody else needs its token."""
    addresses = [service.weights for service in plan.services.values()]
    addresses += [each.weights for service in plan.services.values() for each in service.adapters]
    addresses += [server.models for server in plan.triton.values()]
    return any(isinstance(source_of(each), HubSource) for each in addresses)


class Model(NamedTuple):
    """A model or an adapter where a server finds it, on a claim. `ready` is what exists when it is there."""

    directory: Directory
    claim: pulumi.Input[str]
    ready: pulumi.Resource


class _Wanted(NamedTuple):
    """A model or an adapter to bring from `address`: its kind and name for people, the directory for its kind, the
    budget in seconds, the digest of its SHA256SUMS if somebody said it, and as what its files are compared.
    """

    what: str
    name: str
    address: str
    directory: str
    seconds: int
    sha256: str | None
    kind: Kind = sums.WEIGHTS


@dataclass(frozen=True)
class Models:
    """Brings models. `claims` are those of other people that have been looked at."""

    platform: Platform
    services: Services
    tokens: Mapping[str, SecretKey]
    inside: pulumi.ResourceOptions
    claims: dict[str, k8s.core.v1.PersistentVolumeClaim] = field(default_factory=dict)

    def of_service(self, service: ServicePlan, image: str) -> dict[str, Model]:
        """The model and its adapters by the names that callers use."""
        wanted = {
            service.name: _Wanted(
                "weights", service.name, service.weights, MODELS, service.copy_seconds, service.weights_sha256
            )
        } | {
            each.name: _Wanted(
                "adapter", f"{service.name}-{each.name}", each.weights, ADAPTERS, each.copy_seconds, each.weights_sha256
            )
            for each in service.adapters
        }
        return {name: self._bring(each, image) for name, each in wanted.items()}

    def of_triton(self, server: TritonPlan, image: str) -> Model:
        """The server's repository. Without a digest nothing is looked for that is not listed."""
        seconds, sha256 = server.copy_seconds, server.weights_sha256
        kind = sums.REPOSITORY if sha256 else sums.WEIGHTS
        wanted = _Wanted("models", server.name, server.models, REPOSITORIES, seconds, sha256, kind)
        return self._bring(wanted, image)

    def _bring(self, wanted: _Wanted, image: str) -> Model:
        """A copy on the shared file system, of a hub's commit by `image` or of objects; or the claim that holds it."""
        source = source_of(wanted.address)
        if isinstance(source, ClaimSource):
            return self._held(source)
        if isinstance(source, ObjectSource):
            copy = Copy(
                wanted.what,
                wanted.name,
                WEIGHTS,
                wanted.directory,
                source.uri,
                wanted.seconds,
                wanted.kind,
                wanted.sha256,
            )
            return self._shared(stage(copy, self.platform, self.services, self.inside))
        args = HubCopyArgs(
            what=wanted.what,
            name=wanted.name,
            directory=wanted.directory,
            repository=source.repository,
            revision=source.revision,
            image=image,
            token=self.tokens[HUB_TOKEN],
            namespace=self.services.namespaces["inference"],
            claim=self.services.claims[WEIGHTS],
            ready=self.platform.cluster.ready,
            timeout_seconds=wanted.seconds,
        )
        return self._shared(HubCopy(f"{wanted.what}-{wanted.name}", args, self.inside))

    def _shared(self, copied: Staged | HubCopy) -> Model:
        directory = Directory(volume=SHARED, path=copied.path)
        return Model(directory, self.services.claims[WEIGHTS], copied.loaded)

    def _held(self, source: ClaimSource) -> Model:
        """A directory of a claim that is there already, which is read so that a preview says where it is not."""
        name = f"claim-{source.claim}"
        if name not in self.claims:
            self.claims[name] = k8s.core.v1.PersistentVolumeClaim.get(
                f"workloads-{name}", f"inference/{source.claim}", self.inside
            )
        directory = Directory(volume=name, path=source.path, below=f"/{name}")
        return Model(directory, self.claims[name].metadata.name.apply(str), self.claims[name])
