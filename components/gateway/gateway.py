"""The Gateway: a listener for plain http, and one with TLS for each hostname, with a certificate of its own.

A hostname that no listener has gets Traefik's 404, and in TLS a certificate that nobody signed. Fields: Gateway API
1.6, GatewaySpec; cert-manager, CertificateSpec.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.gateway.issuer import API, NAME
from components.gateway.traefik import CLASS, PLAIN_PORT, TLS_PORT
from components.platform.awaited import awaited
from components.platform.network_rules import NAMESPACE_KEY

GATEWAY, PLAIN = "gateway", "http"


@dataclass(frozen=True, kw_only=True)
class GatewayArgs:
    """`hostnames` by service or page. Routes are taken from the namespaces `routes`; those for questions of an
    authority from the Gateway's own. `controller` is what has the class of Gateways, `issuer` what certificates come
    after. If certificates are `signed_at_once`, the Gateway is there when Traefik has them; an authority that asks the
    hostnames first needs DNS to lead there, which is set up after it.
    """

    namespace: pulumi.Input[str]
    routes: Sequence[str]
    hostnames: Mapping[str, str]
    controller: pulumi.Resource
    issuer: pulumi.Resource
    signed_at_once: bool


class Gateway(Component):
    """The Gateway and its certificates. `gateway` is what routes come after."""

    gateway: pulumi.Resource

    def __init__(self, name: str, args: GatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        certificates = [self._certificate(args, service, host) for service, host in args.hostnames.items()]
        self.gateway = self._object(
            "gateway",
            "gateway.networking.k8s.io/v1",
            "Gateway",
            GATEWAY,
            args,
            {"gatewayClassName": CLASS, "listeners": _listeners(args)},
            [args.controller, *certificates],
        )
        self.register_outputs({"hostnames": sorted(args.hostnames.values())})

    def _certificate(self, args: GatewayArgs, service: str, hostname: str) -> pulumi.Resource:
        """A new key with each certificate: one that was read once opens nothing for long."""
        spec = {
            "dnsNames": [hostname],
            "secretName": secret_of(service),
            "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
            "issuerRef": {"kind": "Issuer", "name": NAME},
        }
        return self._object(f"{service}-tls", API, "Certificate", service, args, spec, [args.issuer])

    def _object(
        self,
        role: str,
        api: str,
        kind: Literal["Certificate", "Gateway"],
        name: str,
        args: GatewayArgs,
        spec: dict[str, Any],
        after: Sequence[pulumi.Resource],
    ) -> k8s.apiextensions.CustomResource:
        return k8s.apiextensions.CustomResource(
            self.named(role),
            api_version=api,
            kind=kind,
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=name, namespace=args.namespace, annotations=awaited(kind) if args.signed_at_once else None
            ),
            spec=spec,
            opts=self.child(depends_on=list(after)),
        )


def secret_of(service: str) -> str:
    """The Secret that holds a service's certificate, beside the Gateway."""
    return f"{service}-tls"


def _listeners(args: GatewayArgs) -> list[dict[str, Any]]:
    def from_namespaces(*names: str) -> dict[str, Any]:
        among = [{"key": NAMESPACE_KEY, "operator": "In", "values": list(names)}]
        return {"namespaces": {"from": "Selector", "selector": {"matchExpressions": among}}}

    plain = {
        "name": PLAIN,
        "port": PLAIN_PORT,
        "protocol": "HTTP",
        "allowedRoutes": from_namespaces(*args.routes, GATEWAY),
    }
    with_tls = [
        {
            "name": service,
            "port": TLS_PORT,
            "protocol": "HTTPS",
            "hostname": hostname,
            "tls": {"mode": "Terminate", "certificateRefs": [{"kind": "Secret", "name": secret_of(service)}]},
            "allowedRoutes": from_namespaces(*args.routes),
        }
        for service, hostname in args.hostnames.items()
    ]
    return [plain, *with_tls]
