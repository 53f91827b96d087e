"""The plan's pages behind single sign-on, on any platform: oauth2-proxy, and a route to each page."""

from collections.abc import Mapping

import pulumi

from catalogue import versions
from components.gateway.page import Page, PageArgs
from components.gateway.sign_in import NAMESPACE, SignIn, SignInArgs
from components.serving.autoscaler import supporting
from planner.serving.gateway import REQUEST, PagePlan
from planner.types import Plan
from stacks.gateway import WayIn
from stacks.people_network import target
from stacks.platform import Platform
from stacks.services import Services


def deploy_people(
    plan: Plan, platform: Platform, services: Services, way_in: WayIn | None, config: pulumi.Config
) -> Mapping[str, pulumi.Output[str]]:
    """Register them, after the pages; their addresses by name, each when its route is there."""
    gateway = plan.gateway
    if gateway is None or gateway.people is None or way_in is None:
        return {}
    wanted = gateway.people
    inside = pulumi.ResourceOptions(parent=platform.layer, providers=[platform.cluster.provider])
    namespace = services.namespaces[NAMESPACE]
    people = SignIn(
        "sign-in",
        SignInArgs(
            namespace=namespace,
            image=plan.supply.image(versions.OAUTH2_PROXY_IMAGE),
            issuer=wanted.issuer,
            client_id=wanted.client_id,
            groups_claim=wanted.groups_claim,
            scopes=wanted.scopes,
            groups=wanted.groups,
            session_seconds=wanted.session_seconds,
            secret=config.require_secret(wanted.secret),
            session_secret=config.require_secret(wanted.session_secret),
            tokens=bool(wanted.callers),
            replicas=gateway.replicas,
            scaling=supporting(gateway.replicas, gateway.most_replicas),
            millicores=REQUEST[0],
            memory_mib=REQUEST[1],
            after=[platform.cluster.ready],
        ),
        inside,
    )

    def page(planned: PagePlan) -> pulumi.Output[str]:
        found = target(planned)
        args = PageArgs(
            page=planned.name,
            namespace=namespace,
            service=found.service,
            port=found.port,
            at=services.namespaces[found.namespace],
            hostname=planned.hostname,
            groups=planned.groups,
            role=planned.role,
            gateways=way_in.namespace,
            after=[way_in.gateway, people.ready],
            signed_at_once=way_in.signed_at_once,
        )
        return Page(f"page-{planned.name}", args, inside).url

    return {each.name: page(each) for each in wanted.pages}
