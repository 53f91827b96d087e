"""What a deleted training job loses: everything since its newest checkpoint, by the job's environment."""

from collections.abc import Mapping
from typing import Any

_MINUTE = 60
_EVERY, _OUTLIVES = "CHECKPOINT_EVERY_SECONDS", "CHECKPOINT_FILE_SYSTEM_SECONDS"
"""How often a run saves, and, where that is on its node, how often on what outlives its pods."""


def loses(job: Mapping[str, Any]) -> str | None:
    """What is lost of a PyTorchJob; None of another kind of job."""
    replicas = (job.get("spec") or {}).get("pytorchReplicaSpecs") or {}
    for role in replicas.values():
        env = {
            each["name"]: str(each.get("value", ""))
            for container in role["template"]["spec"]["containers"]
            for each in container.get("env") or ()
        }
        every = env.get(_OUTLIVES) or env.get(_EVERY)
        if every is None:
            return "all that it computed is lost, as it has no checkpoint; the new one begins at its first step"
        if not every.isdecimal():
            return "what it computed since its newest checkpoint is lost"
        minutes = round(int(every) / _MINUTE)
        return f"what it computed since its newest checkpoint is lost, at most {minutes} min; the new job resumes there"
    return None
