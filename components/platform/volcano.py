"""Volcano: gangs start together, queues share by weight, and what is reclaimable gives back (M01, M02; KJ10, KJ11)."""

from typing import Any

from components.platform.taints import GPU_RESOURCE

ACTIONS = ("allocate", "backfill", "reclaim", "preempt")
"""The chart's default stops after `backfill`: weights and priorities would never take anything back.

Nor has it `enqueue`, which leaves a gang Pending while its queue has no room, and what is Pending preempts nobody
(volcano pkg/scheduler/actions/preempt/preempt.go). Without it `allocate` lets every gang out of Pending, for which the
training operator waits before it makes pods.
"""


def scheduler_config() -> str:
    """The scheduler's configuration. Bin packing counts GPUs above all, so that whole nodes stay free for gangs."""
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
            "",
        ]
    )


def volcano_values(version: str) -> dict[str, Any]:
    """Values of the `volcano` chart of `version`. The images are named, since the chart's own tag can move."""
    return {
        "basic": {"image_tag_version": f"v{version.removeprefix('v')}", "image_pull_policy": "IfNotPresent"},
        "custom": {"scheduler_config_override": scheduler_config()},
    }
