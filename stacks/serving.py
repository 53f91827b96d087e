"""The plan's model services, on whichever platform: their models, the servers, and a first request to each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pulumi
import pulumi_kubernetes as k8s

from catalogue import versions
from catalogue.supply import Supply
from components.monitoring.adapter import KV_CACHE, WAITING
from components.serving.arguments import Directory, Engine, LoraModule, compiled_path, serve_command
from components.serving.autoscaler import Scaling
from components.serving.door import TRITON, VLLM, Door
from components.serving.hub import HubCopy, HubCopyArgs
from components.serving.inference import InferenceService, InferenceServiceArgs
from components.serving.keys import CallerKeys, ServiceKeys, ServiceKeysArgs, templates
from components.serving.placement import Placement
from components.serving.smoke import OF_TRITON, SmokeRequest, SmokeRequestArgs, questions
from components.serving.tokens import KEY as TOKEN_KEY
from components.serving.tokens import SecretKey, Tokens, TokensArgs
from components.serving.triton import TritonServer, TritonServerArgs
from components.storage.staged import MODELS, Staged
from planner.external_secrets import HUB_SECRET
from planner.serving.drain import LEAVE_SECONDS, TRITON_DRAIN_SECONDS
from planner.serving.gateway import RoutePlan
from planner.serving.sources import ClaimSource, ObjectSource, source_of
from planner.types import Plan
from planner.workload_types import ServicePlan, TritonPlan
from stacks.copies import Copy, stage
from stacks.gateway import WayIn, publish
from stacks.outside import outside_of
from stacks.platform import GpuPool, Platform
from stacks.services import WEIGHTS, Services
from stacks.shapes import shape

HUB_TOKEN = "hf-token"  # noqa: S105 - a name
TOKENS = {HUB_TOKEN: HUB_SECRET}
"""Secrets of the stack file by the name of the Secret that holds them."""

ADAPTERS, REPOSITORIES, SHARED = "adapters", "triton", "models"
"""Directories of the shared file system, and the name of that volume in a server's pod."""


class _Model(NamedTuple):
    """A model or an adapter where a server finds it, on a claim. `ready` is what exists when it is there."""

    directory: Directory
    claim: pulumi.Input[str]
    ready: pulumi.Resource


class Served(NamedTuple):
    """Addresses in the cluster by name, which resolve when they have answered, and those `public` ones from outside."""

    urls: dict[str, pulumi.Output[str]]
    public: dict[str, pulumi.Output[str]]


class _Wanted(NamedTuple):
    """A model or an adapter to bring from `address`: its kind and name for people, the directory for its kind, the
    budget in seconds, and the digest of its SHA256SUMS if somebody said it.
    """

    what: str
    name: str
    address: str
    directory: str
    seconds: int
    sha256: str | None


def serve(
    plan: Plan,
    platform: Platform,
    services: Services,
    way_in: WayIn | None,
    config: pulumi.Config,
    inside: pulumi.ResourceOptions,
) -> Served:
    """Register services and Triton servers."""
    tokens: Mapping[str, SecretKey] = {}
    if plan.services:
        tokens = _tokens(services, config, inside)
    site = _Site(plan.supply, platform, services, way_in, tokens, config, inside)
    urls = {
        name: site.start(
            service,
            platform.pools[service.pool],
            site.bring_all(service),
            plan.gateway.route(name) if plan.gateway else None,
        )
        for name, service in plan.services.items()
    }
    return Served(
        urls
        | {
            name: site.start_triton(
                server, platform.pools[server.pool], plan.gateway.route(name) if plan.gateway else None
            )
            for name, server in plan.triton.items()
        },
        site.public,
    )


def _tokens(services: Services, config: pulumi.Config, inside: pulumi.ResourceOptions) -> Mapping[str, SecretKey]:
    """Tokens by the names of their Secrets. Pods read one when they start, so the next one has what it is then."""
    kept = {name: outside for name, key in TOKENS.items() if (outside := outside_of(services.outside, key))}
    values = {name: config.require_secret(key) for name, key in TOKENS.items() if name not in kept}
    found: dict[str, SecretKey] = {}
    if values:
        args = TokensArgs(namespace=services.namespaces["inference"], values=values)
        found.update(Tokens("tokens", args, inside).keys)
    for name, outside in kept.items():
        secret = outside.secret(f"token-{name}", namespace="inference", secret=name, values={TOKEN_KEY: TOKENS[name]})
        found[name] = SecretKey(name=secret, key=TOKEN_KEY)
    return found


@dataclass(frozen=True)
class _Site:
    """What all services have around them. `claims` are those of other people that have been looked at."""

    supply: Supply
    platform: Platform
    services: Services
    way_in: WayIn | None
    tokens: Mapping[str, SecretKey]
    config: pulumi.Config
    inside: pulumi.ResourceOptions
    claims: dict[str, k8s.core.v1.PersistentVolumeClaim] = field(default_factory=dict)
    public: dict[str, pulumi.Output[str]] = field(default_factory=dict)

    def start(
        self, service: ServicePlan, pool: GpuPool, models: Mapping[str, _Model], route: RoutePlan | None
    ) -> pulumi.Output[str]:
        """The servers, a request to each of their models, and the route to them from outside."""
        image, engine = self.supply.image(service.image), _engine(service, models)
        compiled = compiled_path(service.image, service.model, service.gpu_product, service.pod.gpus)
        shared = {SHARED: self.services.claims[WEIGHTS]}
        keys = self._keys(service)
        server = InferenceService(
            f"service-{service.name}",
            InferenceServiceArgs(
                service=service.name,
                namespace=self.services.namespaces["inference"],
                image=image,
                shape=shape(service.pod),
                pool=pool.name,
                gpu_product=pool.gpu_product,
                taints=pool.taints,
                priority=self.services.priorities["inference"],
                engine=engine,
                compiled=Directory(volume=SHARED, path=compiled),
                claims=shared | {each.directory.volume: each.claim for each in models.values()},
                ready=[each.ready for each in models.values()],
                nodes_ready=[pool.nodes_ready, *self.services.gpus[pool.name]],
                replicas=_scaling(service) or service.min_replicas,
                placement=Placement(
                    pool=pool.name, gpus=service.pod.gpus, node_gpus=pool.devices, spread=service.spread
                ),
                startup_seconds=service.startup_seconds,
                leave_seconds=LEAVE_SECONDS,
                grace_seconds=service.grace_seconds,
                spare_replica=service.spare_replica,
                door=Door(
                    image=self.supply.image(versions.NGINX_IMAGE),
                    keys=keys,
                    behind=VLLM,
                    groups=service.token_groups,
                ),
                hub_token=self.tokens[HUB_TOKEN],
                monitors=self.services.monitors,
            ),
            self.inside,
        )
        smoke = SmokeRequestArgs(
            service=service.name,
            namespace=self.services.namespaces["inference"],
            image=self.supply.image(versions.CURL_IMAGE),
            address=server.url,
            models=engine.names,
            asked=questions(engine.names),
            key=keys.caller,
            revision=json.dumps([image, *serve_command(engine)]),
            after=[server.service],
        )
        answered = SmokeRequest(f"smoke-{service.name}", smoke, self.inside).answered
        if self.way_in is not None and route is not None:
            self.public[service.name] = publish(route, self.way_in, self.services, server.service, self.inside)
        return pulumi.Output.all(server.url, answered.id).apply(lambda known: str(known[0]))

    def _keys(self, service: ServicePlan | TritonPlan) -> CallerKeys:
        """What lets a caller in, from the secrets of the stack that the service names."""
        if outside := outside_of(self.services.outside, *service.keys):
            values = {f"value{index}": key for index, key in enumerate(service.keys)}
            kept = outside.secret(
                f"keys-{service.name}",
                namespace="inference",
                secret=f"{service.name}-keys",
                values=values,
                templates=templates(list(values)),
            )
            return CallerKeys(name=kept, follows=True)
        args = ServiceKeysArgs(
            service=service.name,
            namespace=self.services.namespaces["inference"],
            keys=[self.config.require_secret(key) for key in service.keys],
        )
        return ServiceKeys(f"keys-{service.name}", args, self.inside).keys

    def start_triton(self, server: TritonPlan, pool: GpuPool, route: RoutePlan | None) -> pulumi.Output[str]:
        """A server of whatever its repository holds, a request to it, and the route to it from outside."""
        image = self.supply.image(server.image)
        wanted = _Wanted("models", server.name, server.models, REPOSITORIES, server.copy_seconds, server.weights_sha256)
        models, keys = self._bring(wanted, image), self._keys(server)
        args = TritonServerArgs(
            server=server.name,
            namespace=self.services.namespaces["inference"],
            image=image,
            shape=shape(server.pod),
            pool=pool.name,
            gpu_product=pool.gpu_product,
            taints=pool.taints,
            priority=self.services.priorities["inference"],
            models=models.directory,
            claim=models.claim,
            ready=models.ready,
            nodes_ready=[pool.nodes_ready, *self.services.gpus[pool.name]],
            replicas=server.replicas,
            spare_replica=server.spare_replica,
            startup_seconds=server.startup_seconds,
            leave_seconds=LEAVE_SECONDS,
            drain_seconds=TRITON_DRAIN_SECONDS,
            door=Door(image=self.supply.image(versions.NGINX_IMAGE), keys=keys, behind=TRITON),
            monitors=self.services.monitors,
        )
        started = TritonServer(f"triton-{server.name}", args, self.inside)
        smoke = SmokeRequestArgs(
            service=server.name,
            namespace=self.services.namespaces["inference"],
            image=self.supply.image(versions.CURL_IMAGE),
            address=started.url,
            models=[],
            asked=OF_TRITON,
            key=keys.caller,
            revision=json.dumps([image, models.directory.at]),
            after=[started.service],
        )
        answered = SmokeRequest(f"smoke-{server.name}", smoke, self.inside).answered
        if self.way_in is not None and route is not None:
            self.public[server.name] = publish(route, self.way_in, self.services, started.service, self.inside)
        return pulumi.Output.all(started.url, answered.id).apply(lambda known: str(known[0]))

    def bring_all(self, service: ServicePlan) -> dict[str, _Model]:
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
        return {name: self._bring(each, self.supply.image(service.image)) for name, each in wanted.items()}

    def _bring(self, wanted: _Wanted, image: str) -> _Model:
        """A copy on the shared file system, of a hub's commit by `image` or of objects; or the claim that holds it."""
        source = source_of(wanted.address)
        if isinstance(source, ClaimSource):
            return self._held(source)
        if isinstance(source, ObjectSource):
            copy = Copy(
                wanted.what, wanted.name, WEIGHTS, wanted.directory, source.uri, wanted.seconds, True, wanted.sha256
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

    def _shared(self, copied: Staged | HubCopy) -> _Model:
        directory = Directory(volume=SHARED, path=copied.path)
        return _Model(directory, self.services.claims[WEIGHTS], copied.loaded)

    def _held(self, source: ClaimSource) -> _Model:
        """A directory of a claim that is there already, which is read so that a preview says where it is not."""
        name = f"claim-{source.claim}"
        if name not in self.claims:
            self.claims[name] = k8s.core.v1.PersistentVolumeClaim.get(
                f"workloads-{name}", f"inference/{source.claim}", self.inside
            )
        directory = Directory(volume=name, path=source.path, below=f"/{name}")
        return _Model(directory, self.claims[name].metadata.name.apply(str), self.claims[name])


def _engine(service: ServicePlan, models: Mapping[str, _Model]) -> Engine:
    """The plan's numbers, and where the model and its adapters are found."""
    return Engine(
        name=service.name,
        model=models[service.name].directory,
        tensor_parallel=service.pod.gpus,
        max_model_len=service.max_model_len,
        gpu_memory_utilization=service.gpu_memory_utilization,
        drain_seconds=service.drain_seconds,
        quantization=service.quantization,
        kv_cache_dtype=service.kv_cache_dtype,
        max_num_seqs=service.max_num_seqs,
        max_num_batched_tokens=service.max_num_batched_tokens,
        prefix_caching=service.prefix_caching,
        chunked_prefill=service.chunked_prefill,
        adapters=[LoraModule(name=each.name, directory=models[each.name].directory) for each in service.adapters],
        max_loras=service.max_loras,
        max_lora_rank=service.max_lora_rank,
    )


def _scaling(service: ServicePlan) -> Scaling | None:
    """The plan's targets as the custom metrics API counts: requests, and parts of the cache from 0 to 1."""
    scaling = service.scaling
    if scaling is None:
        return None
    return Scaling(
        least=service.min_replicas,
        most=service.max_replicas,
        targets={WAITING: str(scaling.waiting_per_replica), KV_CACHE: f"{10 * scaling.kv_cache_percent}m"},
        up_seconds=scaling.up_seconds,
        down_seconds=scaling.down_seconds,
    )
