"""How one service is reached from outside: its hostname, its limit of requests, and plain http sent to TLS.

Fields: Gateway API 1.6, HTTPRouteSpec; Traefik documentation, RateLimit: a bucket per source, here the hostname, so
that the limit is the service's and not a caller's.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.gateway.gateway import GATEWAY, PLAIN
from components.gateway.traefik import TLS_ENTRY
from components.platform.awaited import awaited


@dataclass(frozen=True, kw_only=True)
class PublicRouteArgs:
    """`service` at `port` of `namespace` is reached at `hostname`, by so many requests a minute through each pod of the
    gateway, of which `burst` may come at once. The Gateway is in the namespace `gateways`; `after` are what it
    leads to and the Gateway itself. With `signed_at_once` the routes are there when Traefik has taken them, which it
    does where it has the listener's certificate.
    """

    service: str
    namespace: pulumi.Input[str]
    port: int
    hostname: str
    requests_per_minute: int
    burst: int
    gateways: pulumi.Input[str]
    after: Sequence[pulumi.Resource]
    signed_at_once: bool


class PublicRoute(Component):
    """Two routes and a limit. `url` resolves when they are there."""

    url: pulumi.Output[str]

    def __init__(self, name: str, args: PublicRouteArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        limit = self._object("limit", args, "traefik.io/v1alpha1", "Middleware", _limit(args), args.after)
        route = self._route("route", args, args.service, _to_service(args), [limit, *args.after])
        plain = self._route("plain", args, PLAIN, [{"filters": [TO_TLS]}], args.after)
        self.url = pulumi.Output.all(route.id, plain.id).apply(lambda _: f"https://{args.hostname}")
        self.register_outputs({"url": self.url})

    def _route(
        self, role: str, args: PublicRouteArgs, listener: str, rules: list[Any], after: Sequence[pulumi.Resource]
    ) -> k8s.apiextensions.CustomResource:
        parent = {"name": GATEWAY, "namespace": args.gateways, "sectionName": listener}
        spec = {"parentRefs": [parent], "hostnames": [args.hostname], "rules": rules}
        return self._object(role, args, "gateway.networking.k8s.io/v1", "HTTPRoute", spec, after)

    def _object(
        self,
        role: str,
        args: PublicRouteArgs,
        api: str,
        kind: str,
        spec: Mapping[str, Any],
        after: Sequence[pulumi.Resource],
    ) -> k8s.apiextensions.CustomResource:
        name = args.service if role != "plain" else f"{args.service}-plain"
        waits = awaited("HTTPRoute") if kind == "HTTPRoute" and args.signed_at_once else None
        return k8s.apiextensions.CustomResource(
            self.named(role),
            api_version=api,
            kind=kind,
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=args.namespace, annotations=waits),
            spec=dict(spec),
            opts=self.child(depends_on=list(after)),
        )


def router_of(namespace: str, service: str, gateways: str) -> str:
    """A regular expression for the name of Traefik's router of a service's route, as its metrics have it. Words are
    joined by one hyphen, and a hash of it all ends it (Traefik v3.7.13, pkg/provider/kubernetes/gateway/kubernetes.go,
    makeRouterName; pkg/provider/configuration.go, Normalize). The entry point is that of the port with TLS.
    """
    words = f"httproute-{namespace}-{service}-gw-{gateways}-{GATEWAY}-ep-{TLS_ENTRY}-0"
    return f"{re.sub('-+', '-', words)}-[0-9a-f]+@kubernetesgateway"


TO_TLS = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "statusCode": 308}}
"""Permanent, and with the request's own method and body, which 301 lets a client change (RFC 9110, 15.4)."""


def _limit(args: PublicRouteArgs) -> dict[str, Any]:
    source = {"requestHost": True}
    limit = {"average": args.requests_per_minute, "period": "1m", "burst": args.burst, "sourceCriterion": source}
    return {"rateLimit": limit}


def _to_service(args: PublicRouteArgs) -> list[dict[str, Any]]:
    limited = {"group": "traefik.io", "kind": "Middleware", "name": args.service}
    return [
        {
            "filters": [{"type": "ExtensionRef", "extensionRef": limited}],
            "backendRefs": [{"name": args.service, "port": args.port}],
        }
    ]
