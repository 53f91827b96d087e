"""Secrets that a stack file's sections name: keys of the file that no Pulumi.yaml declares."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from rehearsed import machines

PROJECT = "gpucluster"


def secrets(text: str) -> Sequence[str]:
    """Full keys of the secrets of receivers of alerts, of model services, of the trials' database, of a tracker and of
    hosts, each once.
    """
    config = (yaml.safe_load(text) or {}).get("config") or {}
    receivers = (config.get(f"{PROJECT}:monitoring") or {}).get("receivers") or ()
    services = (config.get(f"{PROJECT}:serving") or {}).get("services") or ()
    named = [str(each["secret"]) for each in receivers if "secret" in each]
    named += [str(key) for each in services for key in each.get("keys") or ()]
    training = config.get(f"{PROJECT}:training") or {}
    if training.get("experiments"):
        named.append(str((training.get("trialDatabase") or {}).get("secret", "trialDatabase")))
    if (tracking := training.get("tracking")) is not None:
        own = "trackingDatabase" if tracking.get("kind", "mlflow") == "mlflow" else "trackingKey"
        named.append(str(tracking.get("secret") or own))
    return list(dict.fromkeys([*(f"{PROJECT}:{key}" for key in named), *machines.secrets(text)]))
