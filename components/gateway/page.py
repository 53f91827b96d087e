"""A page behind single sign-on: requests are authenticated, and callers' identity headers stripped.

Fields: Gateway API 1.6, HTTPRouteSpec, and ReferenceGrant, of which Traefik reads v1beta1 (its
pkg/provider/kubernetes/gateway/client.go); Traefik documentation, ForwardAuth and Headers: a header set to nothing is
removed. Filters work in their order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.gateway.definitions import GROUP
from components.gateway.gateway import GATEWAY, PLAIN
from components.gateway.route import TO_TLS
from components.gateway.sign_in import CALLBACK, NAME, NAMESPACE, PORT, SIGN_OUT
from components.platform.awaited import awaited
from components.platform.identity import CALLED, MAIL, ROLE, USER

_OF_OTHERS = (
    "X-Auth-Request-Groups",
    "X-Auth-Request-Access-Token",
    "X-Auth-Request-Redirect",
    "X-Forwarded-User",
    "X-Forwarded-Email",
    "X-Forwarded-Groups",
    "X-Forwarded-Preferred-Username",
    "X-Forwarded-Access-Token",
    "X-Webauth-User",
    "X-Webauth-Role",
    "kubeflow-userid",
    "kubeflow-groups",
)
"""By which some program or other believes that it is told who asks: Kubeflow's are in its backend/src/apiserver/common/
const.go."""
BELIEVED = (USER, MAIL, CALLED, ROLE, *_OF_OTHERS, "Authorization")
"""What no caller says of themselves. Grafana would take a password in Authorization."""


@dataclass(frozen=True, kw_only=True)
class PageArgs:
    """`service` at `port` of the namespace `at` is seen at `hostname` by members of `groups`. With a `role` it is told
    who they are, and that this is their role. The routes are in `namespace`, the Gateway in `gateways`; `after` are
    what they lead to, and the Gateway.
    """

    page: str
    namespace: pulumi.Input[str]
    service: str
    port: int
    at: pulumi.Input[str]
    hostname: str
    groups: Sequence[str]
    role: str | None
    gateways: pulumi.Input[str]
    after: Sequence[pulumi.Resource]
    signed_at_once: bool


class Page(Component):
    """Two routes, what they pass through, and the leave to lead elsewhere. `url` resolves when they are there."""

    url: pulumi.Output[str]

    def __init__(self, name: str, args: PageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        parts = {"nameless": _nameless(), "asked": _asked(args.groups, told=args.role is not None), "on": _on(args)}
        middlewares = [
            self._object(part, args, "traefik.io/v1alpha1", "Middleware", f"{args.page}-{part}", {part_kind: spec}, [])
            for part, (part_kind, spec) in parts.items()
        ]
        grant = self._grant(args)
        rules = _rules(args)
        route = self._route("route", args, args.page, rules, [*middlewares, grant, *args.after])
        plain = self._route("plain", args, PLAIN, [{"filters": [TO_TLS]}], args.after)
        self.url = pulumi.Output.all(route.id, plain.id).apply(lambda _: f"https://{args.hostname}")
        self.register_outputs({"url": self.url})

    def _grant(self, args: PageArgs) -> k8s.apiextensions.CustomResource:
        spec = {
            "from": [{"group": GROUP, "kind": "HTTPRoute", "namespace": args.namespace}],
            "to": [{"group": "", "kind": "Service", "name": args.service}],
        }
        return self._object("grant", args, f"{GROUP}/v1beta1", "ReferenceGrant", args.page, spec, [], at=args.at)

    def _route(
        self, role: str, args: PageArgs, listener: str, rules: list[Any], after: Sequence[pulumi.Resource]
    ) -> k8s.apiextensions.CustomResource:
        parent = {"name": GATEWAY, "namespace": args.gateways, "sectionName": listener}
        spec = {"parentRefs": [parent], "hostnames": [args.hostname], "rules": rules}
        name = args.page if role == "route" else f"{args.page}-plain"
        return self._object(role, args, f"{GROUP}/v1", "HTTPRoute", name, spec, after)

    def _object(
        self,
        role: str,
        args: PageArgs,
        api: str,
        kind: str,
        name: str,
        spec: Mapping[str, Any],
        after: Sequence[pulumi.Resource],
        at: pulumi.Input[str] | None = None,
    ) -> k8s.apiextensions.CustomResource:
        waits = awaited("HTTPRoute") if kind == "HTTPRoute" and args.signed_at_once else None
        return k8s.apiextensions.CustomResource(
            self.named(role),
            api_version=api,
            kind=kind,
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=name, namespace=args.namespace if at is None else at, annotations=waits
            ),
            spec=dict(spec),
            opts=self.child(depends_on=list(after or args.after)),
        )


def _nameless() -> tuple[str, dict[str, Any]]:
    return "headers", {"customRequestHeaders": dict.fromkeys(BELIEVED, "")}


def _asked(groups: Sequence[str], *, told: bool) -> tuple[str, dict[str, Any]]:
    """oauth2-proxy judges groups by this query wherever it is asked (its oauthproxy.go, authOnlyAuthorize), and at `/`
    sends whoever has no session to the issuer.
    """
    query = urlencode({"allowed_groups": ",".join(groups)})
    return "forwardAuth", {
        "address": f"http://{NAME}.{NAMESPACE}.svc:{PORT}/?{query}",
        "trustForwardHeader": False,
        "authRequestHeaders": ["Accept", "Cookie", "User-Agent"],
        **({"authResponseHeaders": [USER, MAIL, CALLED]} if told else {}),
        "maxResponseBodySize": 65_536,
    }


def _on(args: PageArgs) -> tuple[str, dict[str, Any]]:
    """The page gets no session, with which it could ask other pages as whoever looks at it."""
    role = {ROLE: args.role.capitalize()} if args.role else {}
    return "headers", {"customRequestHeaders": {"Cookie": "", **role}}


def _rules(args: PageArgs) -> list[dict[str, Any]]:
    def through(*parts: str) -> list[dict[str, Any]]:
        group = {"group": "traefik.io", "kind": "Middleware"}
        return [{"type": "ExtensionRef", "extensionRef": {**group, "name": f"{args.page}-{part}"}} for part in parts]

    return [
        {
            "matches": [{"path": {"type": "Exact", "value": path}} for path in (CALLBACK, SIGN_OUT)],
            "filters": through("nameless"),
            "backendRefs": [{"name": NAME, "port": PORT}],
        },
        {
            "filters": through("nameless", "asked", "on"),
            "backendRefs": [{"name": args.service, "namespace": args.at, "port": args.port}],
        },
    ]
