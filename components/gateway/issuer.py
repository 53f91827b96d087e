"""Certificate issuers: a public authority by ACME, or the stack's own authority.

cert-manager documentation, Issuer configuration: ACME (HTTP01, gatewayHTTPRoute; DNS01), SelfSigned ("Bootstrapping
CA Issuers") and CA.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

API = "cert-manager.io/v1"
NAME, ROOT = "callers", "private-ca"
_ROOT_HOURS, _ROOT_RENEWED_HOURS = 87_600, 8_760
"""Ten years, and one before them: whoever trusts the root has to be given the next one by then."""


@dataclass(frozen=True, kw_only=True)
class Acme:
    """An authority's directory, and the mailbox it writes to. Its tokens are `records` of names, as a platform's zone
    says; where that is None, its questions come in by the `gateway`.
    """

    server: str
    email: str
    gateway: str
    records: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class IssuerArgs:
    """Without `acme` it signs by itself. `after` is what shows that cert-manager takes orders."""

    namespace: pulumi.Input[str]
    acme: Acme | None
    common_name: str
    after: Sequence[pulumi.Resource]


class Issuer(Component):
    """The Issuer `callers` of a namespace. `issuer` is the resource that certificates come after."""

    issuer: pulumi.Resource

    def __init__(self, name: str, args: IssuerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        if args.acme is not None:
            self.issuer = self._object("issuer", args, "Issuer", NAME, {"acme": _acme(args.acme)}, args.after)
        else:
            root = self._root(args)
            self.issuer = self._object("issuer", args, "Issuer", NAME, {"ca": {"secretName": ROOT}}, [root])
        self.register_outputs({"issuer": NAME})

    def _root(self, args: IssuerArgs) -> pulumi.Resource:
        """The authority's own certificate, which it signs itself."""
        own = self._object("own", args, "Issuer", ROOT, {"selfSigned": {}}, args.after)
        spec = {
            "isCA": True,
            "commonName": args.common_name,
            "secretName": ROOT,
            "duration": f"{_ROOT_HOURS}h",
            "renewBefore": f"{_ROOT_RENEWED_HOURS}h",
            # A new key would be a new authority, of which no caller knows.
            "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Never"},
            "issuerRef": {"kind": "Issuer", "name": ROOT},
        }
        return self._object("root", args, "Certificate", ROOT, spec, [own])

    def _object(
        self, role: str, args: IssuerArgs, kind: str, name: str, spec: dict[str, Any], after: Sequence[pulumi.Resource]
    ) -> k8s.apiextensions.CustomResource:
        return k8s.apiextensions.CustomResource(
            self.named(role),
            api_version=API,
            kind=kind,
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=args.namespace),
            spec=spec,
            opts=self.child(depends_on=list(after)),
        )


def _acme(acme: Acme) -> dict[str, Any]:
    parent = {"kind": "Gateway", "name": acme.gateway}
    asked = {"http01": {"gatewayHTTPRoute": {"parentRefs": [parent]}}}
    return {
        "server": acme.server,
        "email": acme.email,
        "privateKeySecretRef": {"name": "acme-account"},
        "solvers": [{"dns01": dict(acme.records)} if acme.records is not None else asked],
    }
