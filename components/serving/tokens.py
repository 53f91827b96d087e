"""Secrets that model servers read: callers' keys, and the token for gated tokenizers."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

KEY = "token"


@dataclass(frozen=True, kw_only=True)
class SecretKey:
    """One key of a Secret. `name` resolves when the Secret exists."""

    name: pulumi.Input[str]
    key: str


@dataclass(frozen=True, kw_only=True)
class TokensArgs:
    """`values` by the Secret's name; they stay secret in state and previews."""

    namespace: pulumi.Input[str]
    values: Mapping[str, pulumi.Output[str]]


class Tokens(Component):
    """One Secret per token, by name."""

    keys: Mapping[str, SecretKey]

    def __init__(self, name: str, args: TokensArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.keys = {
            token: SecretKey(name=self._create(token, value, args.namespace), key=KEY)
            for token, value in args.values.items()
        }
        self.register_outputs({"tokens": sorted(self.keys)})

    def _create(self, token: str, value: pulumi.Output[str], namespace: pulumi.Input[str]) -> pulumi.Output[str]:
        sealed: pulumi.Output[str] = pulumi.Output.secret(value)
        secret = k8s.core.v1.Secret(
            self.named(token),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=token, namespace=namespace),
            string_data={KEY: sealed},
            opts=self.child(),
        )
        return secret.metadata.name.apply(str)
