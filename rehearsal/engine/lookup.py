"""Looks for half-created objects where the stack's own providers would: their regions, roles and kubeconfigs.

Everything here is plain boto3 and Kubernetes API, so it works on real clouds as it does on a rehearsal. Credentials
come from the environment, as the provider plugins take them.
"""

import functools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from rehearsal import awsmodels
from rehearsal.engine import naturalkeys
from rehearsal.engine.naturalkeys import Clients
from rehearsal.engine.state import Pending
from rehearsal.kube.client import ApiError, Kube

FIELD_MANAGER = "pulumi"
"""How the field managers of the Kubernetes provider begin (pulumi-kubernetes, server-side apply)."""
FIELD_MANAGER_KEPT = "__fieldManager"
"""The output in which that provider keeps it."""
SETTLE_SECONDS = 1800.0
UNSETTLED = frozenset({"CREATING", "UPDATING", "pending"})


class ForeignObjectError(Exception):
    """An object of this name exists, and something else made it; the text says what shows that."""


class NoNaturalKeyError(Exception):
    """There is no way known to find objects of this type."""


@dataclass(frozen=True)
class Surroundings:
    """What the lookup of one pending create may use."""

    provider: Mapping[str, Any]
    """The inputs of its provider resource."""
    known: frozenset[str]
    """Ids of this type that the state has already: not candidates."""


Finder = Callable[[Pending, Surroundings], list[str]]
"""Ids of the objects that the interrupted create may have made.

Raises ForeignObjectError, NoNaturalKeyError, or what the API raises.
"""


def find(pending: Pending, around: Surroundings) -> list[str]:
    """The Finder for AWS and Kubernetes."""
    if pending.urn.type.startswith("kubernetes:"):
        return _kubernetes(pending, around)
    if pending.urn.type.startswith("aws:"):
        return _aws(pending, around)
    raise NoNaturalKeyError(f"no natural key is known for {pending.urn.type}")


def settled(pending: Pending, id: str, around: Surroundings) -> str:
    """Wait until the object is no longer being made and return its last state; at once for kinds made in one go."""
    state = STATES.get(pending.urn.type)
    if state is None:
        return ""
    clients = _clients(pending, around)
    deadline, pause = time.monotonic() + SETTLE_SECONDS, 0.5
    while (now := str(state(clients, id))) in UNSETTLED and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(15.0, pause * 1.5)
    return now


def remembered(pending: Pending, id: str, around: Surroundings) -> dict[str, Any]:
    """What the provider keeps in the state and reads from no API: under which name it owns an object's fields.

    Without it the next update would be another owner to the API server, and conflict with the killed one.
    """
    _, version, kind = pending.urn.type.split(":")
    if not pending.urn.type.startswith("kubernetes:") or version == "helm.sh/v3":
        return {}
    namespace, _, name = id.rpartition("/")
    kube = _cluster(_kubeconfig(around), around)
    live = kube.get(version.removeprefix("core/"), kind, name, namespace or None) or {}
    owners = [owner for owner in _managers(live) if owner.startswith(FIELD_MANAGER)]
    return {FIELD_MANAGER_KEPT: owners[0]} if owners else {}


def _managers(live: Mapping[str, Any]) -> list[str]:
    entries = (live.get("metadata") or {}).get("managedFields") or ()
    return sorted({str(each.get("manager", "")) for each in entries})


def _aws(pending: Pending, around: Surroundings) -> list[str]:
    token, clients = pending.urn.type, _clients(pending, around)
    default = (around.provider.get("defaultTags") or {}).get("tags") or {}
    own = pending.inputs.get("tags") or {}
    if token in naturalkeys.NAMED:
        found = naturalkeys.by_name(token, clients, pending.inputs)
        if found is None:
            return []
        if found.tags and not (default | own).items() <= dict(found.tags).items():
            raise ForeignObjectError(f"{found.id} exists with other tags than this stack's")
        return [found.id]
    if token not in naturalkeys.TAGGED and token != naturalkeys.KEY:
        raise NoNaturalKeyError(f"no natural key is known for {token}")
    if not own:
        raise NoNaturalKeyError("it carries no tags of its own, only those that every object of the stack has")
    if token == naturalkeys.KEY:
        ids = naturalkeys.key_by_tags(clients, default | own)
    else:
        ids = naturalkeys.by_tags(naturalkeys.TAGGED[token], clients, default | own)
    return [each for each in ids if each not in around.known]


def _clients(pending: Pending, around: Surroundings) -> Clients:
    """boto3 clients with the provider's region, profile and assumed roles."""
    awsmodels.read_once()
    provider = around.provider
    region = pending.inputs.get("region") or provider.get("region")
    session = boto3.Session(region_name=region, profile_name=provider.get("profile") or None)
    for role in provider.get("assumeRoles") or ():
        session = _assume(session, role)
    config = Config(retries={"mode": "adaptive", "max_attempts": 8})
    return functools.cache(lambda service: session.client(service, config=config))


def _assume(session: Any, role: Mapping[str, Any]) -> Any:
    optional = {"ExternalId": role["externalId"]} if role.get("externalId") else {}
    name = role.get("sessionName") or "gpucluster-recover"
    answer = session.client("sts").assume_role(RoleArn=role["roleArn"], RoleSessionName=name, **optional)
    given = answer["Credentials"]
    return boto3.Session(
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
        region_name=session.region_name,
    )


STATES: dict[str, Callable[[Clients, str], Any]] = {
    "aws:eks/cluster:Cluster": lambda clients, id: clients("eks").describe_cluster(name=id)["cluster"]["status"],
    "aws:eks/nodeGroup:NodeGroup": lambda clients, id: clients("eks").describe_nodegroup(
        clusterName=id.split(":")[0], nodegroupName=id.split(":")[1]
    )["nodegroup"]["status"],
    "aws:eks/addon:Addon": lambda clients, id: clients("eks").describe_addon(
        clusterName=id.split(":")[0], addonName=id.split(":")[1]
    )["addon"]["status"],
    "aws:ec2/natGateway:NatGateway": lambda clients, id: clients("ec2").describe_nat_gateways(NatGatewayIds=[id])[
        "NatGateways"
    ][0]["State"],
    "aws:fsx/lustreFileSystem:LustreFileSystem": lambda clients, id: clients("fsx").describe_file_systems(
        FileSystemIds=[id]
    )["FileSystems"][0]["Lifecycle"],
}


def _kubernetes(pending: Pending, around: Surroundings) -> list[str]:
    metadata = pending.inputs.get("metadata") or {}
    kubeconfig = _kubeconfig(around)
    _, version, kind = pending.urn.type.split(":")
    if version == "helm.sh/v3":
        name, namespace = pending.inputs.get("name"), pending.inputs.get("namespace") or "default"
        return _release(_cluster(kubeconfig, around), str(name), str(namespace))
    if not metadata.get("name"):
        raise NoNaturalKeyError("its manifest names no object")
    kube = _cluster(kubeconfig, around)
    try:
        live = kube.get(version.removeprefix("core/"), kind, metadata["name"], metadata.get("namespace"))
    except ApiError as error:
        if error.reason == "NoMatch":
            return []
        raise
    if live is None:
        return []
    managers = _managers(live)
    ours = any(manager.startswith(FIELD_MANAGER) for manager in managers)
    if not ours and (managers or _owns_fields(pending.inputs)):
        raise ForeignObjectError(f"{kind} {metadata['name']} exists and was made by {', '.join(managers) or 'another'}")
    namespace = live["metadata"].get("namespace")
    return [f"{namespace}/{metadata['name']}" if namespace else metadata["name"]]


def _owns_fields(inputs: Mapping[str, Any]) -> bool:
    """Whether applying these inputs leaves the field manager's mark: of a bare name, the API server keeps none."""
    metadata = inputs.get("metadata") or {}
    return bool(inputs.keys() - {"apiVersion", "kind", "metadata"} or metadata.keys() - {"name", "namespace"})


def _kubeconfig(around: Surroundings) -> str | None:
    """The provider's kubeconfig as text; programs that write it as JSON find it decoded like any other argument."""
    given = around.provider.get("kubeconfig")
    if isinstance(given, Mapping):
        return json.dumps(given)
    return given if isinstance(given, str) else None


def _cluster(kubeconfig: str | None, around: Surroundings) -> Kube:
    if kubeconfig is None:
        raise NoNaturalKeyError("the state holds no kubeconfig for its provider")
    return Kube.from_kubeconfig(kubeconfig, around.provider.get("context"))


def _release(kube: Kube, name: str, namespace: str) -> list[str]:
    """A Helm release that reached its end. Revisions caught in the middle are deleted, or Helm refuses for ever.

    Helm keeps one Secret per revision, labelled with owner, name and status (helm.sh/helm pkg/storage/driver).
    """
    secrets = kube.list("v1", "Secret", namespace, label_selector=f"owner=helm,name={name}")
    whole = []
    for secret in secrets:
        if secret["metadata"]["labels"].get("status", "").startswith("pending-"):
            kube.delete(secret)
        else:
            whole.append(secret)
    return [f"{namespace}/{name}"] if whole else []
