"""Secrets of a stack file: keys of their own, beside the sections that name them."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from settings.types import Matching

HUB_TOKEN, API_TOKEN = "hfToken", "apiToken"
"""The token for gated models; and the secret that lets callers in where a service names none."""

TRIAL_DATABASE = "trialDatabase"
"""The password of the trials' database, where the stack file names no other secret for it."""

TRACKING_DATABASE, TRACKING_KEY = "trackingDatabase", "trackingKey"
"""The password of the tracker's database and the key of a tracker outside, where the stack file names no other."""

PIPELINES_DATABASE = "pipelinesDatabase"
"""The password of the pipelines' database, where the stack file names no other secret for it."""

PEOPLE_CLIENT, PEOPLE_SESSIONS = "peopleClient", "peopleSessions"
"""What this stack is known by at the issuer of people's names, and what seals their sessions, where the stack file
names no others."""

REGISTRY_PASSWORD = "registryPassword"  # noqa: S105 - the key's name
"""The password of who pulls from a mirror of the site's, where the stack file names no other secret for it."""

CONTROLLER_SENSORS = "controllerSensors"
"""The password of who reads sensors of management controllers, where the stack file names no other secret for it."""

SSH_KEY, CLUSTER_KEY = "sshKey", "clusterKey"
"""The private key that machines of an inventory let in, and what the secrets of their cluster are derived from."""

STORE_KEY_ID, STORE_KEY = "objectStoreKeyId", "objectStoreKey"
"""The two halves of a key of the object store: of one that an inventory names, or of Ceph's."""

SecretKey = Annotated[
    str,
    Matching(
        r"[a-z][A-Za-z0-9]{2,39}",
        "the name of a secret of this file, such as slackUrl (letters and digits, a small letter first)",
    ),
    Field(description="key of the stack file that holds it: pulumi config set --secret gpucluster:KEY"),
]


def named_secrets(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The secrets that receivers of alerts, model services, people's pages, the databases of trials and pipelines, a
    tracker, an inventory and a mirror name, in sections as they are written."""
    receivers = (each.get("secret") for each in _entries(values, "monitoring", "receivers"))
    services = (each.get("keys") for kind in ("services", "triton") for each in _entries(values, "serving", kind))
    keys = (key for each in services if isinstance(each, list | tuple) for key in each)
    of_training = (*_database(values), *_tracker(values), *_pipelines(values))
    found = (*receivers, *keys, *_people(values), *of_training, *_of_inventory(values), *_mirror(values))
    return tuple(dict.fromkeys(each for each in found if isinstance(each, str)))


def _people(values: Mapping[str, Any]) -> Iterable[Any]:
    """The secrets of the client at the issuer, and of sessions."""
    serving = values.get("serving")
    gateway = serving.get("gateway") if isinstance(serving, Mapping) else None
    people = gateway.get("people") if isinstance(gateway, Mapping) else None
    if isinstance(people, Mapping):
        yield people.get("secret", PEOPLE_CLIENT)
        yield people.get("sessionSecret", PEOPLE_SESSIONS)


def _database(values: Mapping[str, Any]) -> Iterable[Any]:
    """The secret of the trials' database, which is there where there are experiments."""
    training = values.get("training")
    if isinstance(training, Mapping) and training.get("experiments"):
        database = training.get("trialDatabase")
        yield database.get("secret", TRIAL_DATABASE) if isinstance(database, Mapping) else TRIAL_DATABASE


def _tracker(values: Mapping[str, Any]) -> Iterable[Any]:
    """The secret of the tracker: its database's password, or the key of one outside."""
    training = values.get("training")
    tracking = training.get("tracking") if isinstance(training, Mapping) else None
    if isinstance(tracking, Mapping):
        own = TRACKING_DATABASE if tracking.get("kind", "mlflow") == "mlflow" else TRACKING_KEY
        yield tracking.get("secret") or own


def _pipelines(values: Mapping[str, Any]) -> Iterable[Any]:
    """The secret of the pipelines' database."""
    training = values.get("training")
    pipelines = training.get("pipelines") if isinstance(training, Mapping) else None
    if isinstance(pipelines, Mapping):
        yield pipelines.get("secret", PIPELINES_DATABASE)


def _mirror(values: Mapping[str, Any]) -> Iterable[Any]:
    """The password at a mirror, where it is a value of the file and not of Secrets Manager."""
    supply = values.get("supply")
    login = supply.get("registryLogin") if isinstance(supply, Mapping) else None
    if isinstance(login, Mapping) and "secretArn" not in login:
        yield login.get("secret", REGISTRY_PASSWORD)


def _of_inventory(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """The secrets without which no machine of an inventory can be reached, nor its object store, nor its sensors."""
    inventory = values.get("inventory")
    if not isinstance(inventory, Mapping):
        return ()
    storage = values.get("storage")
    ceph = storage.get("ceph") if isinstance(storage, Mapping) else None
    controllers = inventory.get("controllers")
    sensors = controllers.get("sensors") if isinstance(controllers, Mapping) else None
    read = (sensors.get("secret", CONTROLLER_SENSORS),) if isinstance(sensors, Mapping) else ()
    stored = inventory.get("objectStore") or (ceph.get("bucket") if isinstance(ceph, Mapping) else None)
    return (SSH_KEY, CLUSTER_KEY, *((STORE_KEY_ID, STORE_KEY) if stored else ()), *read)


def _entries(values: Mapping[str, Any], section: str, key: str) -> Iterable[Mapping[str, Any]]:
    """The mappings in a list of a section; what has another shape is skipped here and explained elsewhere."""
    found = values.get(section)
    listed = found.get(key) if isinstance(found, Mapping) else None
    return [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list | tuple) else ()
