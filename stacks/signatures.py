"""Namespaces that admit only signed images: Kyverno, its policy, and what depends on it."""

from collections.abc import Mapping

import pulumi

from catalogue import versions
from components.platform.charts import Chart, ChartArgs
from components.platform.image_signatures import (
    ACCOUNT,
    ImageSignatures,
    ImageSignaturesArgs,
    Signer,
    kyverno_values,
)
from planner.supply import CONTROLLER_REQUEST, TIMEOUT_SECONDS
from planner.types import Plan
from stacks.charts import chart_source
from stacks.namespaces import SIGNATURES
from stacks.platform import Platform


def checked(
    plan: Plan,
    platform: Platform,
    namespaces: Mapping[str, pulumi.Output[str]],
    monitors: pulumi.Resource,
    inside: pulumi.ResourceOptions,
) -> Mapping[str, pulumi.Output[str]]:
    """The namespaces, where those with signed images alone resolve when admission asks for signatures; all of them as
    they are without the setting. Register what checks, after the kinds of `monitors` that its chart makes one of.
    """
    wanted = plan.signatures
    if wanted is None:
        return namespaces
    namespace, (cpu, memory) = namespaces[SIGNATURES], CONTROLLER_REQUEST
    images = platform.images
    account = (
        images.reader("signatures-identity", namespace=namespace, account=ACCOUNT, opts=inside)
        if images
        else pulumi.Output.from_input(ACCOUNT)
    )
    chart = ChartArgs(
        source=chart_source(versions.KYVERNO, plan.supply),
        namespace=namespace,
        values=kyverno_values(
            account, wanted.namespaces, replicas=wanted.replicas, cpu_millicores=cpu, memory_mib=memory
        ),
        after=[platform.cluster.ready, monitors],
    )
    policy = ImageSignaturesArgs(
        namespaces=wanted.namespaces,
        signer=Signer(key=wanted.key, issuer=wanted.issuer, identity=wanted.identity),
        timeout_seconds=TIMEOUT_SECONDS,
        providers=[images.provider] if images else [],
        after=Chart("kyverno", chart, inside).release,
    )
    enforced = ImageSignatures("signed-images", policy, inside).enforced
    return {name: _after(each, enforced) if name in wanted.namespaces else each for name, each in namespaces.items()}


def _after(namespace: pulumi.Output[str], enforced: pulumi.Output[str]) -> pulumi.Output[str]:
    return pulumi.Output.all(namespace, enforced).apply(lambda known: str(known[0]))
