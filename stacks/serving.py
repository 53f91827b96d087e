"""The plan's model services, on whichever platform: their models, the servers, and a first request to each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pulumi

from catalogue import versions
from catalogue.supply import Supply
from components.gateway.route import router_of
from components.monitoring.adapter import KV_CACHE, WAITING
from components.serving.arguments import Directory, Engine, LoraModule, compiled_path, serve_command
from components.serving.autoscaler import Scaling
from components.serving.door import Door
from components.serving.door_rules import TRITON, VLLM, Behind
from components.serving.inference import InferenceService, InferenceServiceArgs
from components.serving.keys import CallerKeys, ServiceKeys, ServiceKeysArgs, templates
from components.serving.placement import Placement
from components.serving.server import Server
from components.serving.smoke import OF_TRITON, SmokeRequest, SmokeRequestArgs, questions
from components.serving.tokens import KEY as TOKEN_KEY
from components.serving.tokens import SecretKey, Tokens, TokensArgs
from components.serving.triton import TritonServer, TritonServerArgs
from components.serving.zero import Zero
from planner.serving.startup import ASK_SECONDS, LEAVE_SECONDS, TRITON_DRAIN_SECONDS
from planner.types import Plan
from planner.workload_types import ServicePlan, TritonPlan
from stacks.autoscaling import PROMETHEUS
from stacks.gateway import WayIn, publish
from stacks.models import SHARED, TOKENS, Model, Models, asks_hub
from stacks.namespaces import GATEWAY as GATEWAYS
from stacks.outside import outside_of
from stacks.platform import Platform
from stacks.services import WEIGHTS, Services
from stacks.shapes import shape


class Served(NamedTuple):
    """Addresses in the cluster by name, which resolve when they have answered, and those `public` ones from outside."""

    urls: dict[str, pulumi.Output[str]]
    public: dict[str, pulumi.Output[str]]


def serve(
    plan: Plan,
    platform: Platform,
    services: Services,
    way_in: WayIn | None,
    keda: pulumi.Resource | None,
    config: pulumi.Config,
    inside: pulumi.ResourceOptions,
) -> Served:
    """Register services and Triton servers."""
    tokens = _tokens(services, config, inside) if asks_hub(plan) else {}
    models = Models(platform, services, tokens, inside)
    site = _Site(plan, platform, services, models, way_in, keda, config, inside)
    urls = {name: site.start(service) for name, service in plan.services.items()}
    urls |= {name: site.start_triton(server) for name, server in plan.triton.items()}
    return Served(urls, site.public)


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
    """What all services have around them."""

    plan: Plan
    platform: Platform
    services: Services
    models: Models
    way_in: WayIn | None
    keda: pulumi.Resource | None
    config: pulumi.Config
    inside: pulumi.ResourceOptions
    public: dict[str, pulumi.Output[str]] = field(default_factory=dict)

    @property
    def supply(self) -> Supply:
        """Where images come from."""
        return self.plan.supply

    def start(self, service: ServicePlan) -> pulumi.Output[str]:
        """The servers, a request to each of their models, and the route to them from outside."""
        image = self.supply.image(service.image)
        models = self.models.of_service(service, image)
        engine, keys, pool = _engine(service, models), self._keys(service), self.platform.pools[service.pool]
        compiled = compiled_path(service.image, service.model, service.gpu_product, service.pod.gpus)
        shared = {SHARED: self.services.claims[WEIGHTS]}
        args = InferenceServiceArgs(
            **self._server(service, keys, VLLM),
            engine=engine,
            compiled=Directory(volume=SHARED, path=compiled),
            claims=shared | {each.directory.volume: each.claim for each in models.values()},
            ready=[each.ready for each in models.values()],
            replicas=self._zero(service) or _scaling(service) or service.min_replicas,
            placement=Placement(pool=pool.name, gpus=service.pod.gpus, node_gpus=pool.devices, spread=service.spread),
            grace_seconds=service.grace_seconds,
        )
        started = InferenceService(f"service-{service.name}", args, self.inside)
        revision = [image, *serve_command(engine)]
        wakes = service.startup_seconds if service.to_zero else None
        return self._opened(service.name, started, keys, revision, engine.names, questions(engine.names), wakes)

    def _zero(self, service: ServicePlan) -> Zero | None:
        """How replicas go to zero and come back; None where some always run."""
        scaling, monitoring = service.scaling, self.plan.monitoring
        if self.keda is None or scaling is None or scaling.idle_seconds is None or monitoring is None:
            return None
        return Zero(
            most=service.max_replicas,
            waiting=scaling.waiting_per_replica,
            cache_percent=scaling.kv_cache_percent,
            up_seconds=scaling.up_seconds,
            down_seconds=scaling.down_seconds,
            idle_seconds=scaling.idle_seconds,
            ask_seconds=ASK_SECONDS,
            prometheus=PROMETHEUS,
            router=router_of("inference", service.name, GATEWAYS),
            scrape_seconds=monitoring.scrape_s,
            ready=self.keda,
        )

    def start_triton(self, server: TritonPlan) -> pulumi.Output[str]:
        """A server of whatever its repository holds, a request to it, and the route to it from outside."""
        image = self.supply.image(server.image)
        models, keys = self.models.of_triton(server, image), self._keys(server)
        args = TritonServerArgs(
            **self._server(server, keys, TRITON),
            models=models.directory,
            claim=models.claim,
            ready=[models.ready],
            replicas=server.replicas,
            drain_seconds=TRITON_DRAIN_SECONDS,
        )
        started = TritonServer(f"triton-{server.name}", args, self.inside)
        return self._opened(server.name, started, keys, [image, models.directory.at], [], OF_TRITON)

    def _server(self, server: ServicePlan | TritonPlan, keys: CallerKeys, behind: Behind) -> dict[str, Any]:
        """What both kinds of servers are told."""
        pool, nginx = self.platform.pools[server.pool], self.supply.image(versions.NGINX_IMAGE)
        return {
            "name": server.name,
            "namespace": self.services.namespaces["inference"],
            "image": self.supply.image(server.image),
            "shape": shape(server.pod),
            "pool": pool.name,
            "gpu_product": pool.gpu_product,
            "taints": pool.taints,
            "priority": self.services.priorities["inference"],
            "nodes_ready": [pool.nodes_ready, *self.services.gpus[pool.name]],
            "spare_replica": server.spare_replica,
            "startup_seconds": server.startup_seconds,
            "leave_seconds": LEAVE_SECONDS,
            "door": Door(image=nginx, keys=keys, behind=behind, groups=server.token_groups),
            "monitors": self.services.monitors,
        }

    def _opened(
        self,
        name: str,
        started: Server,
        keys: CallerKeys,
        revision: list[str],
        models: Sequence[str],
        asked: Mapping[str, Sequence[str]],
        wakes: int | None = None,
    ) -> pulumi.Output[str]:
        """Ask the server, which is made anew with each `revision`, and publish it where it has a route."""
        smoke = SmokeRequestArgs(
            service=name,
            namespace=self.services.namespaces["inference"],
            image=self.supply.image(versions.CURL_IMAGE),
            address=started.url,
            models=models,
            asked=asked,
            key=keys.caller,
            revision=json.dumps(revision),
            after=[started.service],
            wakes_seconds=wakes,
        )
        answered = SmokeRequest(f"smoke-{name}", smoke, self.inside).answered
        route = self.plan.gateway.route(name) if self.plan.gateway else None
        if self.way_in is not None and route is not None:
            self.public[name] = publish(route, self.way_in, self.services, started.service, self.inside)
        return pulumi.Output.all(started.url, answered.id).apply(lambda known: str(known[0]))

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


def _engine(service: ServicePlan, models: Mapping[str, Model]) -> Engine:
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
