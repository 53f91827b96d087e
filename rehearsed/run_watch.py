"""What `run-watch` recorded in the cluster."""

import json
from collections.abc import Sequence

from rehearsal.kube.client import Kube

NAMESPACE, KEPT = "training", "run-failures"


def failed(kube: Kube) -> Sequence[str]:
    """The last failure of each run, in a sentence."""
    kept = kube.get("v1", "ConfigMap", KEPT, NAMESPACE) or {}
    newest = [(run, json.loads(text)[-1]) for run, text in sorted((kept.get("data") or {}).items())]
    return [f"run {run} failed at {each['at']}: {each['sentence']}" for run, each in newest]
