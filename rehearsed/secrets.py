"""Secrets that a stack file's sections read, except those kept in a store outside of it."""

from collections.abc import Sequence

from rehearsed import machines, preset

PROJECT = "gpucluster"


def secrets(text: str) -> Sequence[str]:
    """Full keys of the secrets of the hub where models come from it, of model services, of people's pages, of receivers
    of alerts, of the databases of trials and pipelines, of a tracker and of hosts, each once.
    """
    text = preset.whole(text)
    config = (preset.parsed(text) or {}).get("config") or {}
    receivers = (config.get(f"{PROJECT}:monitoring") or {}).get("receivers") or ()
    serving = config.get(f"{PROJECT}:serving") or {}
    services, servers = serving.get("services") or (), serving.get("triton") or ()
    models = [each for service in services for each in (service, *(service.get("adapters") or ()))]
    addresses = [*(each.get("weights") for each in models), *(each.get("models") for each in servers)]
    named = ["hfToken"] if any(str(each).startswith("hf://") for each in addresses) else []
    named += [str(key) for each in (*services, *servers) for key in each.get("keys") or ("apiToken",)]
    named += [str(each["secret"]) for each in receivers if "secret" in each]
    if (people := (serving.get("gateway") or {}).get("people")) is not None:
        named += [str(people.get("secret", "peopleClient")), str(people.get("sessionSecret", "peopleSessions"))]
    training = config.get(f"{PROJECT}:training") or {}
    if training.get("experiments"):
        named.append(str((training.get("trialDatabase") or {}).get("secret", "trialDatabase")))
    if (tracking := training.get("tracking")) is not None:
        its = "trackingDatabase" if tracking.get("kind", "mlflow") == "mlflow" else "trackingKey"
        named.append(str(tracking.get("secret") or its))
    if (pipelines := training.get("pipelines")) is not None:
        named.append(str(pipelines.get("secret", "pipelinesDatabase")))
    kept = (config.get(f"{PROJECT}:externalSecrets") or {}).get("secrets") or {}
    own = (f"{PROJECT}:{key}" for key in named if key not in kept)
    return list(dict.fromkeys([*own, *machines.secrets(text)]))
