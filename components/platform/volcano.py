"""Volcano: gangs start together, queues share by weight, and what is reclaimable gives back (M01, M02; KJ10, KJ11)."""

from typing import Any

from components.platform.taints import GPU_RESOURCE

ACTIONS = ("allocate", "backfill", "reclaim", "preempt")
"""The chart's default stops after `backfill`: weights and priorities would never take anything back.

Nor has it `enqueue`, which leaves a gang Pending while its queue has no room, and what is Pending preempts nobody
(volcano pkg/scheduler/actions/preempt/preempt.go). Without it `allocate` lets every gang out of Pending, for which the
training operator waits before it makes pods.
"""


NEAR = [
    "  - name: network-topology-aware",
    "    arguments:",
    "      hypernode.binpack.normal-pod.enable: false",
]
"""Reads HyperNodes for PodGroups that have a networkTopology. Pods of others it would bring to the fullest switch, one
after the other: the first of a gang would go where the rest has no room (volcano v1.14.1,
pkg/scheduler/plugins/network-topology-aware, batchNodeOrderFnForNormalPods)."""


EVERY_NODE = "--percentage-nodes-to-find=100"
"""By itself the scheduler looks at 100 nodes or about half of all for each pod (volcano v1.14.1,
pkg/scheduler/util/scheduler_helper.go, CalculateNumOfFeasibleNodesToFind), at others for the next. A gang that takes
the nodes of another one must find each of them in one round: among 256 nodes one waited without end."""
_THREADS = 20
"""The chart's own default of `scheduler_node_worker_threads`."""


def scheduler_config(*, near: bool = False) -> str:
    """The scheduler's configuration. Bin packing counts GPUs above all, so that whole nodes stay free for gangs. Where
    there are HyperNodes (`near`), gangs may ask for a part of the fabric.
    """
    return "\n".join(
        [
            f'actions: "{", ".join(ACTIONS)}"',
            "tiers:",
            "- plugins:",
            "  - name: priority",
            "  - name: gang",
            "    enablePreemptable: false",
            "  - name: conformance",
            "- plugins:",
            "  - name: drf",
            "    enablePreemptable: false",
            "  - name: predicates",
            "  - name: proportion",
            "  - name: nodeorder",
            "  - name: binpack",
            "    arguments:",
            "      binpack.weight: 10",
            "      binpack.cpu: 1",
            "      binpack.memory: 1",
            f"      binpack.resources: {GPU_RESOURCE}",
            f"      binpack.resources.{GPU_RESOURCE}: 10",
            *(NEAR if near else []),
            "",
        ]
    )


def volcano_values(version: str, *, near: bool = False) -> dict[str, Any]:
    """Values of the `volcano` chart of `version`. The images are named, since the chart's own tag can move.

    Charts before 1.14.2 have no value for `EVERY_NODE` (volcano pull request 5254): it stands as a further line of the
    value before it in the scheduler's arguments, as deep as those (templates/scheduler.yaml).
    """
    return {
        "basic": {"image_tag_version": f"v{version.removeprefix('v')}", "image_pull_policy": "IfNotPresent"},
        "custom": {
            "scheduler_config_override": scheduler_config(near=near),
            "scheduler_node_worker_threads": f"{_THREADS}\n            - {EVERY_NODE}",
        },
    }
