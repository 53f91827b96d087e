"""Service accounts of workloads: an identity for the object store, none for Kubernetes."""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


def service_account(
    owner: Component, name: str, namespace: pulumi.Input[str], granted: pulumi.Input[str]
) -> pulumi.Output[str]:
    """A child of `owner`: the account `name`, without a token for the API server.

    The name resolves when the account exists and `granted`, its rights outside the cluster, has resolved too.
    """
    account = k8s.core.v1.ServiceAccount(
        owner.named("account"),
        metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace),
        automount_service_account_token=False,
        opts=owner.child(),
    )
    return pulumi.Output.all(account.metadata.name, granted).apply(lambda known: str(known[0]))
