"""Samples of the way in: gateway, issuer, sign-in and pages."""

from collections.abc import Mapping
from typing import Any

import pulumi

from components.gateway.gateway import Gateway, GatewayArgs
from components.gateway.issuer import Issuer, IssuerArgs
from components.gateway.page import Page, PageArgs
from components.gateway.route import PublicRoute, PublicRouteArgs
from components.gateway.sign_in import SignIn, SignInArgs
from tests.components.samples.common import Make, done, of


def sign_in_args(**changes: Any) -> SignInArgs:
    known: dict[str, Any] = {
        "namespace": "people",
        "image": "oauth2-proxy:v7",
        "issuer": "https://login.example.com/realms/ml",
        "client_id": "gpucluster",
        "groups_claim": "groups",
        "scopes": ["openid", "email", "profile"],
        "groups": ["ml", "ml-admins"],
        "session_seconds": 28_800,
        "secret": pulumi.Output.secret("what the issuer knows"),
        "session_secret": pulumi.Output.secret("what seals"),
        "tokens": False,
        "replicas": 2,
        "millicores": 50,
        "memory_mib": 64,
        "after": [done("cluster")],
    }
    return SignInArgs(**{**known, **changes})


def page_args(**changes: Any) -> PageArgs:
    known: dict[str, Any] = {
        "page": "grafana",
        "namespace": "people",
        "service": "stack-grafana",
        "port": 80,
        "at": "monitoring",
        "hostname": "grafana.example.com",
        "groups": ["ml", "ml-admins"],
        "role": "viewer",
        "gateways": "gateway",
        "after": [done("gateway"), done("people")],
        "signed_at_once": True,
    }
    return PageArgs(**{**known, **changes})


SAMPLES: Mapping[str, Make] = {
    "issuer": of(
        Issuer, lambda: IssuerArgs(namespace="gateway", acme=None, common_name="lab CA", after=[done("webhook")])
    ),
    "gateway": of(
        Gateway,
        lambda: GatewayArgs(
            namespace="gateway",
            routes=["inference"],
            hostnames={"chat": "chat.example.com"},
            controller=done("traefik"),
            issuer=done("issuer"),
            signed_at_once=True,
        ),
    ),
    "sign-in": of(SignIn, sign_in_args),
    "page": of(Page, page_args),
    "route": of(
        PublicRoute,
        lambda: PublicRouteArgs(
            service="chat",
            namespace="inference",
            port=8000,
            hostname="chat.example.com",
            requests_per_minute=300,
            burst=50,
            gateways="gateway",
            after=[done("gateway"), done("service")],
            signed_at_once=True,
        ),
    ),
}
