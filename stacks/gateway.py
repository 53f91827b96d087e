"""The plan's gateway, on any platform: certificates, the gateway, and a route for each service."""

from dataclasses import dataclass, replace

import pulumi

from catalogue import versions
from catalogue.supply import Supply
from components.gateway.definitions import GROUP, definitions
from components.gateway.gateway import GATEWAY, Gateway, GatewayArgs
from components.gateway.issuer import Acme, Issuer, IssuerArgs
from components.gateway.route import PublicRoute, PublicRouteArgs
from components.gateway.sign_in import NAMESPACE as PEOPLE
from components.gateway.traefik import TraefikArgs, traefik_values
from components.platform.charts import Chart, ChartArgs
from components.platform.crds import Crds, CrdsArgs
from components.serving.arguments import PORT
from components.serving.autoscaler import supporting
from components.serving.entry import Entry
from planner.monitoring.room import GATEWAY_REQUEST
from planner.serving.gateway import AcmePlan, GatewayPlan, RoutePlan
from planner.types import Plan
from stacks.charts import chart_source
from stacks.namespaces import GATEWAY as GATEWAYS
from stacks.platform import Platform
from stacks.services import Services


@dataclass(frozen=True, kw_only=True)
class WayIn:
    """What routes refer to: the namespace of the Gateway, which resolves when it exists, and the Gateway. Whether what
    is registered behind it may wait for certificates.
    """

    namespace: pulumi.Output[str]
    gateway: pulumi.Resource
    signed_at_once: bool


def deploy_gateway(plan: Plan, platform: Platform, services: Services) -> WayIn | None:
    """Register it; nothing without the section."""
    wanted = plan.gateway
    if wanted is None:
        return None
    inside = pulumi.ResourceOptions(parent=platform.layer, providers=[platform.cluster.provider])
    namespace = services.namespaces[GATEWAYS]
    traefik = _traefik(wanted, plan.supply, platform, services, inside, counted=plan.to_zero)
    issuer = Issuer(
        "issuer",
        IssuerArgs(
            namespace=namespace,
            acme=_acme(wanted.acme, platform) if wanted.acme else None,
            common_name=f"{platform.cluster.name} private CA",
            after=[services.certificates] if services.certificates else [],
        ),
        inside,
    )
    args = GatewayArgs(
        namespace=namespace,
        routes=("inference", PEOPLE) if wanted.people else ("inference",),
        hostnames=wanted.hostnames,
        controller=traefik,
        issuer=issuer.issuer,
        signed_at_once=wanted.signed_at_once,
    )
    gateway = Gateway("gateway", args, inside).gateway
    return WayIn(namespace=namespace, gateway=gateway, signed_at_once=wanted.signed_at_once)


def _acme(wanted: AcmePlan, platform: Platform) -> Acme:
    records = platform.zones.records(wanted.zone) if platform.zones and wanted.zone else None
    return Acme(server=wanted.server, email=wanted.email, gateway=GATEWAY, records=records)


def entry_of(wanted: GatewayPlan, platform: Platform, inside: pulumi.ResourceOptions) -> Entry:
    """What the platform publishes the gateway by; with its certificate, where callers are shown that one. Raises
    RunError where its load balancers have none.
    """
    front = wanted.front
    if front is None:
        return platform.entry
    if platform.front is None:
        raise pulumi.RunError(
            "gpucluster:serving.gateway.issuer.kind: this platform's load balancer has no certificates of its own; "
            "take acme or private-ca"
        )
    shown = platform.front.ending_tls(
        "front", hostnames=wanted.hostnames, zone=front.zone, certificate=front.certificate, opts=inside
    )
    return replace(platform.entry, annotations={**platform.entry.annotations, **shown})


def _traefik(
    wanted: GatewayPlan,
    supply: Supply,
    platform: Platform,
    services: Services,
    inside: pulumi.ResourceOptions,
    *,
    counted: bool,
) -> pulumi.Resource:
    """The controller of Gateways. It ends where a kind that it looks at is not served, so it comes after them."""
    namespace, files = services.namespaces[GATEWAYS], versions.GATEWAY_API_CRDS
    kinds = CrdsArgs(
        files=definitions(versions.GATEWAY_API, files, supply.image(versions.WAIT_IMAGE)),
        crds=[f"{plural}.{GROUP}" for plural in files],
        namespace=services.namespaces["kubeflow"],
        image=supply.image(versions.KUBECTL_IMAGE),
        after=platform.cluster.ready,
    )
    cpu, memory = GATEWAY_REQUEST
    values = TraefikArgs(
        entry=entry_of(wanted, platform, inside),
        callers=wanted.callers,
        replicas=wanted.replicas,
        cpu_millicores=cpu,
        memory_mib=memory,
        leave_seconds=wanted.leave_seconds,
        drain_seconds=wanted.drain_seconds,
        scaling=supporting(wanted.replicas, wanted.most_replicas),
        counts_routes=counted,
    )
    chart = ChartArgs(
        source=chart_source(versions.TRAEFIK, supply),
        namespace=namespace,
        values=traefik_values(values),
        after=[platform.cluster.ready, services.monitors, Crds("gateway-api", kinds, inside).established],
    )
    return Chart("traefik", chart, inside).release


def publish(
    route: RoutePlan, way_in: WayIn, services: Services, service: pulumi.Resource, inside: pulumi.ResourceOptions
) -> pulumi.Output[str]:
    """The route to a `service` that answers; its address, which resolves when the route is there."""
    args = PublicRouteArgs(
        service=route.service,
        namespace=services.namespaces["inference"],
        port=PORT,
        hostname=route.hostname,
        requests_per_minute=route.pod_requests_per_minute,
        burst=route.pod_burst,
        gateways=way_in.namespace,
        after=[way_in.gateway, service],
        signed_at_once=way_in.signed_at_once,
    )
    return PublicRoute(f"route-{route.service}", args, inside).url
