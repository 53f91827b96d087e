"""KatibConfig: which jobs trials may be, and the images of collectors and algorithms (Katib 0.19, pkg/apis/config).

The controller reads `init` from the file once, when it starts, and `runtime` from the ConfigMap each time.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.platform.confinement import confined_values

TRIAL_KINDS = ("PyTorchJob.v1.kubeflow.org",)
"""Kind.version.group of what trials are made of here; the vendor's list has five more, each with rights to it."""

WEBHOOK_PORT = 8443
SERVICE, CERTIFICATE = "katib-controller", "katib-webhook-cert"

SUGGESTIONS = {
    "random": "suggestion-hyperopt",
    "tpe": "suggestion-hyperopt",
    "grid": "suggestion-optuna",
    "multivariate-tpe": "suggestion-optuna",
    "hyperband": "suggestion-hyperband",
    "bayesianoptimization": "suggestion-skopt",
    "cmaes": "suggestion-goptuna",
    "sobol": "suggestion-goptuna",
}
"""The image of each algorithm (manifests/v1beta1/installs/katib-standalone/katib-config.yaml)."""

COLLECTOR, EARLY_STOPPING = "file-metrics-collector", "earlystopping-medianstop"

_SEARCH = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


@dataclass(frozen=True, kw_only=True)
class CollectorRoom:
    """What the collector of metrics may take beside a trial's first rank."""

    millicores: int
    memory_mib: int


def katib_config(images: Mapping[str, str], room: CollectorRoom) -> str:
    """The configuration as JSON, which is YAML too. `images` go by the vendor's names (file-metrics-collector).

    A collector gets the security context of the container that it watches, and an algorithm's service its own here;
    Katib has no place for one of early stopping, nor for its resources' requests to be left out.
    """
    amounts = {"cpu": f"{room.millicores}m", "memory": f"{room.memory_mib}Mi"}
    content: dict[str, Any] = {
        "apiVersion": "config.kubeflow.org/v1beta1",
        "kind": "KatibConfig",
        "init": {
            "certGenerator": {"enable": False},
            "controller": {
                "webhookPort": WEBHOOK_PORT,
                "injectSecurityContext": True,
                "trialResources": list(TRIAL_KINDS),
            },
        },
        "runtime": {
            "metricsCollectors": [
                {"kind": "StdOut", "image": images[COLLECTOR], "resources": {"requests": amounts, "limits": amounts}}
            ],
            "suggestions": [
                {
                    "algorithmName": name,
                    "image": images[image],
                    "resources": _SEARCH,
                    "securityContext": confined_values(),
                }
                for name, image in sorted(SUGGESTIONS.items())
            ],
            "earlyStoppings": [{"algorithmName": "medianstop", "image": images[EARLY_STOPPING], "resources": _SEARCH}],
        },
    }
    return json.dumps(content, indent=2, sort_keys=True) + "\n"
