"""An object store of the site that speaks S3: its client, and the key that pods get as a Secret."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.copying import ClientValue
from components.storage.aws_cli import AwsCli

SECRET = "object-store"  # noqa: S105 - a name
REGION = "us-east-1"
"""What requests are signed for: a store of a site has no regions, and this is what most of them expect."""
KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}
"""Variables of the client, and the keys of the Secret that they come from."""


def client(image: str, endpoint: str) -> AwsCli:
    """The AWS CLI at another address. Stores other than AWS' know checksums that the CLI asks for by itself rarely.

    Source: AWS SDKs and tools reference guide, "Service-specific endpoints", "Data integrity protections".
    """
    env: dict[str, ClientValue] = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
        "AWS_REGION": REGION,
    }
    for variable, key in KEYS.items():
        reference = k8s.core.v1.SecretKeySelectorArgs(name=SECRET, key=key)
        env[variable] = k8s.core.v1.EnvVarSourceArgs(secret_key_ref=reference)
    return AwsCli(image=image, env=env)


@dataclass(frozen=True, kw_only=True)
class StoreKeyArgs:
    """The two halves of a key of the store."""

    namespace: pulumi.Input[str]
    key_id: pulumi.Input[str]
    key: pulumi.Input[str]


class StoreKey(Component):
    """The key in a namespace. `kept` resolves to the Secret's name."""

    kept: pulumi.Output[str]

    def __init__(self, name: str, args: StoreKeyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        secret = k8s.core.v1.Secret(
            self.named("secret"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=SECRET, namespace=args.namespace),
            string_data={"id": pulumi.Output.secret(args.key_id), "key": pulumi.Output.secret(args.key)},
            opts=self.child(),
        )
        self.kept = secret.metadata.name.apply(str)
        self.register_outputs({"secret": self.kept})
