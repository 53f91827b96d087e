"""Which of kube-prometheus-stack's rules are kept: those that no rule here repeats and that do not always fire.

Names are those of chart 88.5.3. Its groups about a control plane that is not scraped are switched off where it is known
what is scraped; here are single alerts.
"""

from collections.abc import Mapping

from monitoring.recording.platform import SYSTEM_NAMESPACES

OURS: Mapping[str, str] = {
    "KubeHpaMaxedOut": "service-full",
    "KubeNodeNotReady": "node-service",
    "KubeNodeUnreachable": "node-unreachable",
    "KubePersistentVolumeFillingUp": "volume-full",
    "NodeFilesystemAlmostOutOfSpace": "node-disk",
    "NodeFilesystemSpaceFillingUp": "node-disk",
    "NodeSystemdServiceFailed": "node-service",
    "TargetDown": "target-down",
}
"""Alerts of the chart that say what a failure of the table says, by the failure's id."""

ALWAYS_SO: Mapping[str, str] = {
    "KubeCPUOvercommit": "pools have a fixed size, and gangs fill them: losing a node is always too much",
    "KubeMemoryOvercommit": "pools have a fixed size, and gangs fill them: losing a node is always too much",
    "KubeQuotaAlmostFull": "the quota of inference is the GPUs of its pools, and they are there to be used",
    "KubeQuotaFullyUsed": "the quota of inference is the GPUs of its pools, and they are there to be used",
    "NodeMemoryHighUtilization": "a training pod gets nearly all memory of its node",
    "NodeSystemSaturation": "a GPU node runs more loader processes than it has processors",
}
"""Alerts of the chart that fire on a GPU cluster as it should be, and why."""


def default_rules() -> dict[str, object]:
    """Values below the chart's `defaultRules`: alerts about workloads leave the namespaces to the table that it covers
    (operator-down, run-failed).
    """
    return {
        "disabled": dict.fromkeys((*OURS, *ALWAYS_SO), True),
        "appNamespacesOperator": "!~",
        "appNamespacesTarget": "|".join((*SYSTEM_NAMESPACES, "training")),
    }
