"""Secrets from Secrets Manager: External Secrets, and each secret where it is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from catalogue import versions
from components.platform.charts import Chart, ChartArgs
from components.platform.external_secrets import (
    ACCOUNT,
    ExternalSecret,
    ExternalSecretArgs,
    OutsideValue,
    SecretStore,
    SecretStoreArgs,
    external_secrets_values,
)
from planner.external_secrets import CONTROLLER_REQUEST, ExternalSecretsPlan
from planner.types import Plan
from stacks.charts import chart_source
from stacks.namespaces import OUTSIDE
from stacks.platform import Platform
from stacks.platform_services import Vault


@dataclass(frozen=True, kw_only=True)
class Outside:
    """The secrets by their keys of the stack file. `controller` brings them, by what `vault` tells it; each namespace
    gets a store of its own when it has its first secret.
    """

    plan: ExternalSecretsPlan
    vault: Vault
    namespaces: Mapping[str, pulumi.Output[str]]
    controller: pulumi.Resource
    inside: pulumi.ResourceOptions
    stores: dict[str, pulumi.Output[str]] = field(default_factory=dict)

    def secret(
        self,
        name: str,
        *,
        namespace: str,
        secret: str,
        values: Mapping[str, str],
        templates: Mapping[str, str] | None = None,
    ) -> pulumi.Output[str]:
        """The Secret of a namespace with `values`, keys of the stack file by name; its name, when it is there."""
        kept = {each: self.plan.secrets[key] for each, key in values.items()}
        args = ExternalSecretArgs(
            namespace=self.namespaces[namespace],
            store=self._store(namespace),
            secret=secret,
            refresh_seconds=self.plan.refresh_seconds,
            values={each: OutsideValue(id=of.id, property=of.property) for each, of in kept.items()},
            templates=templates,
        )
        return ExternalSecret(name, args, self.inside).secret

    def _store(self, namespace: str) -> pulumi.Output[str]:
        if namespace not in self.stores:
            args = SecretStoreArgs(
                namespace=self.namespaces[namespace], provider=self.vault.provider, after=self.controller
            )
            self.stores[namespace] = SecretStore(f"secrets-{namespace}", args, self.inside).store
        return self.stores[namespace]


def deploy_outside(
    plan: Plan, platform: Platform, namespaces: Mapping[str, pulumi.Output[str]], inside: pulumi.ResourceOptions
) -> Outside | None:
    """Register the controller, whose pod comes after the right to read, which only new pods are given; nothing without
    the section. Raises RunError where the platform keeps no secrets.
    """
    wanted = plan.external_secrets
    if wanted is None:
        return None
    if platform.vault is None:
        raise pulumi.RunError("gpucluster:externalSecrets: this platform has no secret store; remove the section")
    namespace, (cpu, memory) = namespaces[OUTSIDE], CONTROLLER_REQUEST
    account = platform.vault.reader(
        "secrets-identity",
        secrets=list(wanted.secrets.values()),
        namespace=namespace,
        account=ACCOUNT,
        opts=inside,
    )
    chart = ChartArgs(
        source=chart_source(versions.EXTERNAL_SECRETS, plan.supply),
        namespace=namespace,
        values=external_secrets_values(account, cpu_millicores=cpu, memory_mib=memory),
        after=platform.cluster.ready,
    )
    return Outside(
        plan=wanted,
        vault=platform.vault,
        namespaces=namespaces,
        controller=Chart("external-secrets", chart, inside).release,
        inside=inside,
    )


def outside_of(outside: Outside | None, *keys: str) -> Outside | None:
    """What brings these secrets, None if they are values of the stack file; the planner refuses a mixture."""
    return outside if outside and all(key in outside.plan.secrets for key in keys) else None
