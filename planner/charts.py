"""Which charts a stack installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catalogue import metal_versions, versions
from planner.fabric.plan import on_fabric

if TYPE_CHECKING:
    from planner.draft import AwsDraft, Draft, MetalDraft


def aws_charts(draft: AwsDraft) -> tuple[str, ...]:
    """By name, in the order of the alphabet."""
    efa = any(pool.efa for pool in draft.pools.values())
    outside = draft.settings.external_secrets is not None
    return _names(
        draft,
        [
            *([versions.EFA_DEVICE_PLUGIN] if efa else []),
            *([versions.EXTERNAL_SECRETS] if outside else []),
            *([versions.KARPENTER] if any(pool.scaled for pool in draft.pools.values()) else []),
        ],
    )


def metal_charts(draft: MetalDraft) -> tuple[str, ...]:
    """By name, in the order of the alphabet; none of a stack that is planned only."""
    if draft.site is None:
        return ()
    own = [metal_versions.CILIUM]
    if draft.site.ceph:
        own += [metal_versions.ROOK_CEPH, metal_versions.CEPH_CSI_DRIVERS]
    else:
        own.append(metal_versions.LOCAL_STATIC_PROVISIONER)
    joined = draft.fabric is not None and on_fabric(draft.kubernetes_pools.values())
    handed = joined and draft.fabric and (draft.fabric.kind == "infiniband" or draft.fabric.pod_ports is not None)
    fabric = [metal_versions.NETWORK_OPERATOR] if handed else []
    return _names(draft, own + fabric)


def _names(draft: Draft, platform: list[versions.Chart]) -> tuple[str, ...]:
    found = [versions.METRICS_SERVER, versions.PROMETHEUS_OPERATOR_CRDS, versions.VOLCANO, *platform]
    if any(pool.gpus_per_node for pool in draft.kubernetes_pools.values()):
        found.append(versions.GPU_OPERATOR)
    if draft.monitoring:
        found += [versions.KUBE_PROMETHEUS_STACK, versions.FLUENT_BIT]
        if any(service.scaling for service in draft.services.values()):
            found.append(versions.PROMETHEUS_ADAPTER)
    if draft.gateway:
        found += [versions.CERT_MANAGER, versions.TRAEFIK]
    if draft.settings.supply.signatures:
        found.append(versions.KYVERNO)
    return tuple(sorted(each.name for each in found))
