"""Which node of its pool a replica lands on (Q09, IN10): the fullest that has room, or each replica its own.

Left alone the scheduler spreads: it prefers nodes with much left, and nodes without another pod of the Deployment. Its
scoring cannot be set on every platform, so the pods say it themselves: each is drawn to the nodes where GPUs are taken
already, the more the stronger. Between a pod of `a` GPUs and one of `b` the terms of both count (kube-scheduler,
plugins/interpodaffinity/scoring.go), so each has the weight a x b, and the sum over a node is 2a for every GPU taken.
That plugin weighs twice as much as the one for free resources (apis/config/v1/default_plugins.go), and its best node
gets all of its points, so that no empty node is begun while another has room.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pulumi_kubernetes as k8s

from components.platform.taints import POOL_KEY

GPUS_KEY = "gpucluster/gpus"
"""Label of a pod: how many GPUs, or slices of them, it takes of its node."""

HOSTNAME = "kubernetes.io/hostname"
_MOST = 100
"""Largest weight of a preference."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A replica of `gpus` GPUs on nodes of `pool`, which have `node_gpus` each. With `spread` no node gets a second
    replica of the service while another node that may run it has none.
    """

    pool: str
    gpus: int
    node_gpus: int
    spread: bool

    @property
    def labels(self) -> dict[str, str]:
        """Labels by which other pods of the pool know what this one takes."""
        return {POOL_KEY: self.pool, GPUS_KEY: str(self.gpus)}

    @property
    def affinity(self) -> k8s.core.v1.AffinityArgs:
        """Preference for the nodes with most GPUs taken."""
        core = k8s.core.v1
        return core.AffinityArgs(
            pod_affinity=core.PodAffinityArgs(
                preferred_during_scheduling_ignored_during_execution=[
                    core.WeightedPodAffinityTermArgs(
                        weight=weight,
                        pod_affinity_term=core.PodAffinityTermArgs(
                            topology_key=HOSTNAME,
                            label_selector=k8s.meta.v1.LabelSelectorArgs(
                                match_labels={POOL_KEY: self.pool, GPUS_KEY: str(size)}
                            ),
                        ),
                    )
                    for size, weight in self._weights()
                ]
            )
        )

    def _weights(self) -> Iterator[tuple[int, int]]:
        """(GPUs of the other pod, weight) for the sizes that parallel servers have. They stay the same whatever else
        the pool runs, or each further service would restart the others.
        """
        sizes = (size for size in range(1, self.node_gpus + 1) if size <= 8 or size.bit_count() == 1)
        return ((size, min(_MOST, self.gpus * size)) for size in sizes)

    def constraints(self, labels: Mapping[str, str]) -> list[k8s.core.v1.TopologySpreadConstraintArgs]:
        """How the pods with these labels are spread. A pod without constraints gets the scheduler's own, which weigh as
        much as the preference above; so one that packs has a constraint over its pool, of which all nodes are part.
        """
        selector = k8s.meta.v1.LabelSelectorArgs(match_labels=labels)
        if not self.spread:
            return [
                k8s.core.v1.TopologySpreadConstraintArgs(
                    max_skew=1, topology_key=POOL_KEY, when_unsatisfiable="ScheduleAnyway", label_selector=selector
                )
            ]
        return [
            k8s.core.v1.TopologySpreadConstraintArgs(
                max_skew=1,
                topology_key=HOSTNAME,
                when_unsatisfiable="DoNotSchedule",
                label_selector=selector,
                # Replicas of an older revision are going, and a node that takes no pods is none to spread over.
                match_label_keys=["pod-template-hash"],
                node_taints_policy="Honor",
            )
        ]
