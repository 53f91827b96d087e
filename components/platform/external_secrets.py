"""External Secrets: its controller makes Secrets of what a keeper of secrets outside the cluster has.

Values of its chart 2.9. Of what it can do only this is on: stores and secrets of single namespaces. What reaches into
all namespaces, writes secrets out of the cluster or takes on accounts of pods is off, with the rights for it. Its
webhook checks objects that this program alone makes, whose schema the API server checks.
Sources: external-secrets v2.9.0, deploy/charts/external-secrets/values.yaml and templates/rbac.yaml; docs/guides/
security-best-practices.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.awaited import awaited

ACCOUNT = "external-secrets"
"""The service account of its controller."""
STORE = "outside"
SYNC_MINUTES = "5m"
"""How long `up` waits for a value: it is there within seconds, or its name, its key or a right to it is wrong."""
_API = "external-secrets.io/v1"


def external_secrets_values(account: pulumi.Input[str], *, cpu_millicores: int, memory_mib: int) -> dict[str, Any]:
    """Values of the `external-secrets` chart. `account` is the controller's, which resolves when it has its rights."""
    amounts = {"cpu": f"{cpu_millicores}m", "memory": f"{memory_mib}Mi"}
    return {
        "serviceAccount": {"name": account},
        "resources": {"requests": amounts, "limits": {"memory": amounts["memory"]}},
        "webhook": {"create": False},
        "certController": {"create": False},
        "processClusterExternalSecret": False,
        "processClusterGenerator": False,
        "processClusterPushSecret": False,
        "processClusterStore": False,
        "processPushSecret": False,
        "rbac": {
            "aggregateToAdmin": False,
            "aggregateToEdit": False,
            "aggregateToView": False,
            "serviceAccountTokenCreate": False,
            "servicebindings": {"create": False},
        },
    }


@dataclass(frozen=True, kw_only=True)
class SecretStoreArgs:
    """`provider` is what the controller is told of the keeper. `after` has the controller and its definitions."""

    namespace: pulumi.Input[str]
    provider: Mapping[str, Any]
    after: pulumi.Resource


class SecretStore(Component):
    """The keeper of secrets as one namespace asks it. `store` resolves to its name when the controller can sign in."""

    store: pulumi.Output[str]

    def __init__(self, name: str, args: SecretStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        made = k8s.apiextensions.CustomResource(
            self.named("store"),
            api_version=_API,
            kind="SecretStore",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=STORE, namespace=args.namespace, annotations=awaited("SecretStore")
            ),
            spec={"provider": dict(args.provider)},
            opts=self.child(
                depends_on=[args.after], custom_timeouts=pulumi.CustomTimeouts(create=SYNC_MINUTES, update=SYNC_MINUTES)
            ),
        )
        self.store = made.id.apply(lambda _: STORE)
        self.register_outputs({"store": self.store})


@dataclass(frozen=True, kw_only=True)
class OutsideValue:
    """What is kept outside: all of a secret there, or one `property` of the JSON object that it is."""

    id: str
    property: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExternalSecretArgs:
    """The Secret `secret` of a namespace: `values` by name, or what templates make of them by those names, by file."""

    namespace: pulumi.Input[str]
    store: pulumi.Input[str]
    secret: str
    refresh_seconds: int
    values: Mapping[str, OutsideValue]
    templates: Mapping[str, str] | None = None


class ExternalSecret(Component):
    """A Secret that follows what is kept outside. `secret` resolves to its name when it is there.

    What is taken away outside stays in the cluster: a slip there does not end services that run.
    """

    secret: pulumi.Output[str]

    def __init__(self, name: str, args: ExternalSecretArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        target: dict[str, Any] = {"name": args.secret, "creationPolicy": "Owner", "deletionPolicy": "Retain"}
        if args.templates:
            target["template"] = {"engineVersion": "v2", "data": dict(args.templates)}
        made = k8s.apiextensions.CustomResource(
            self.named("external-secret"),
            api_version=_API,
            kind="ExternalSecret",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=args.secret, namespace=args.namespace, annotations=awaited("ExternalSecret")
            ),
            spec={
                "refreshPolicy": "Periodic",
                "refreshInterval": _duration(args.refresh_seconds),
                "secretStoreRef": {"kind": "SecretStore", "name": args.store},
                "target": target,
                "data": [{"secretKey": key, "remoteRef": _remote(value)} for key, value in sorted(args.values.items())],
            },
            opts=self.child(custom_timeouts=pulumi.CustomTimeouts(create=SYNC_MINUTES, update=SYNC_MINUTES)),
        )
        self.secret = made.id.apply(lambda _: args.secret)
        self.register_outputs({"secret": self.secret})


def _remote(value: OutsideValue) -> dict[str, str]:
    return {"key": value.id, **({"property": value.property} if value.property else {})}


def _duration(seconds: int) -> str:
    """As Go writes a duration, and as the API server gives it back."""
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}h{minutes}m{left}s"
