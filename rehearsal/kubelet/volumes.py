"""What a pod's volumes wait for, and what lies behind each mount, as a kubelet's volume manager sees it."""

import base64
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.program import Launch, Mount

Object = Mapping[str, Any]
Find = Callable[[str, str, str | None], Object | None]
MountCheck = Callable[[Object], str | None]


@dataclass(frozen=True)
class Problem:
    """Why a pod stays in ContainerCreating: reason and message of the kubelet's event."""

    reason: str
    message: str


def problems(pod: Object, node: str, find: Find, can_mount: MountCheck) -> Iterator[Problem]:
    """What keeps the volumes of a pod from being mounted on a node; nothing if all are there.

    `find(store, name, namespace)` looks into the local copies; `can_mount(persistent volume)` asks the world behind a
    CSI driver and gives the reason why not.
    """
    namespace = pod["metadata"]["namespace"]
    for volume in pod["spec"].get("volumes") or []:
        for text in _problems_of(volume, namespace, pod, node, find, can_mount):
            yield Problem("FailedMount", text)


def _problems_of(
    volume: Object, namespace: str, pod: Object, node: str, find: Find, can_mount: MountCheck
) -> Iterator[str]:
    head = f'MountVolume.SetUp failed for volume "{volume["name"]}" : '
    for source in sources(volume):
        if text := _missing(source, namespace, find):
            yield head + text
    claim = claim_name(volume, pod)
    if claim is None:
        return
    bound = find("claims", claim, namespace)
    if bound is None:
        yield f'Unable to attach or mount volumes: persistentvolumeclaim "{claim}" not found'
    elif (bound.get("status") or {}).get("phase") != "Bound":
        yield f'Unable to attach or mount volumes: persistentvolumeclaim "{claim}" is not bound'
    elif volume_of := find("volumes", bound["spec"].get("volumeName", ""), None):
        yield from _unmountable(volume_of, node, find, can_mount)
    else:
        yield f'Unable to attach or mount volumes: volume "{bound["spec"].get("volumeName")}" of the claim is gone'


def _unmountable(volume: Object, node: str, find: Find, can_mount: MountCheck) -> Iterator[str]:
    name, csi, local = volume["metadata"]["name"], volume["spec"].get("csi"), volume["spec"].get("local")
    if local and (reason := can_mount(volume)):
        yield f'MountVolume.NewMounter initialization failed for volume "{name}" : {reason}'
    if not csi:
        return
    registered = ((find("csinodes", node, None) or {}).get("spec") or {}).get("drivers") or []
    if csi["driver"] not in [each["name"] for each in registered]:
        yield (
            f'MountVolume.SetUp failed for volume "{name}" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI '
            f"client: driver name {csi['driver']} not found in the list of registered CSI drivers"
        )
    elif reason := can_mount(volume):
        yield f'MountVolume.SetUp failed for volume "{name}" : {reason}'


def sources(volume: Object) -> list[Object]:
    """The ConfigMaps and Secrets a volume is made of, each as `{"configMap"|"secret": {...}}`."""
    if volume.get("projected"):
        parts = volume["projected"].get("sources") or []
        return [each for each in parts if each.get("configMap") or each.get("secret")]
    return [volume] if volume.get("configMap") or volume.get("secret") else []


def _reference(source: Object) -> tuple[str, str, Object]:
    """(store, name, the source itself): volumes say `secretName` where projections say `name`."""
    if source.get("configMap"):
        return "configmaps", source["configMap"]["name"], source["configMap"]
    return "secrets", source["secret"].get("secretName") or source["secret"]["name"], source["secret"]


def _missing(source: Object, namespace: str, find: Find) -> str | None:
    store, name, details = _reference(source)
    found = find(store, name, namespace)
    if details.get("optional"):
        return None
    if found is None:
        return f'{store[:-1]} "{name}" not found'
    present = {**(found.get("data") or {}), **(found.get("binaryData") or {})}
    absent = [item["key"] for item in details.get("items") or [] if item["key"] not in present]
    return f"references non-existent {store[:-1]} key: {absent[0]}" if absent else None


def gone(volume: Object, namespace: str, find: Find) -> bool:
    """Whether a source that must be there is not: the kubelet then leaves the files of a mounted volume alone."""
    return any(_missing(source, namespace, find) for source in sources(volume))


def files(volume: Object, namespace: str, find: Find) -> dict[str, bytes] | None:
    """The files of a ConfigMap, Secret or projected volume by relative path; None for other volumes."""
    parts = sources(volume)
    if not parts and not volume.get("projected"):
        return None
    result: dict[str, bytes] = {}
    for source in parts:
        store, name, details = _reference(source)
        values = _contents(find(store, name, namespace) or {})
        if details.get("items"):
            result.update({i["path"]: values[i["key"]] for i in details["items"] if i["key"] in values})
        else:
            result.update(values)
    return result


def mounted(launch: Launch, path: str) -> bytes | None:
    """A file of a ConfigMap or Secret by its path in the container; None where no such one is mounted."""
    mount = launch.mount_of(path)
    by_name = {volume["name"]: volume for volume in launch.pod["spec"].get("volumes") or []}
    volume = by_name.get(mount.name) if mount else None
    found = files(volume, launch.namespace, launch.world.find) if volume else None
    return (found or {}).get(posixpath.normpath(mount.inside(path) or "")) if mount else None


def _contents(obj: Object) -> dict[str, bytes]:
    """The entries of a ConfigMap or Secret as they lie on a volume."""
    encoded = dict(obj.get("binaryData") or {})
    if obj.get("kind") == "Secret":
        return {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    texts = {key: str(value).encode() for key, value in (obj.get("data") or {}).items()}
    return texts | {key: base64.b64decode(value) for key, value in encoded.items()}


def claim_name(volume: Object, pod: Object) -> str | None:
    """The PersistentVolumeClaim behind a volume (an ephemeral one is named after pod and volume)."""
    if volume.get("persistentVolumeClaim"):
        return str(volume["persistentVolumeClaim"]["claimName"])
    return f"{pod['metadata']['name']}-{volume['name']}" if volume.get("ephemeral") else None


def mounts(pod: Object, container: Object, node: str, find: Find) -> list[Mount]:
    """A container's mounts with the key of what is in them."""
    by_name = {volume["name"]: volume for volume in pod["spec"].get("volumes") or []}
    return [
        Mount(
            path=mount["mountPath"],
            volume=_key(by_name[mount["name"]], pod, node, find),
            sub_path=mount.get("subPath") or "",
            name=mount["name"],
            read_only=bool(mount.get("readOnly")),
        )
        for mount in container.get("volumeMounts") or []
        if mount["name"] in by_name
    ]


def sub_path_problem(pod: Object, container: str, mounts: Iterable[Mount], contents: Contents) -> str | None:
    """Why the directory of a subPath cannot be had: the kubelet makes what is missing, but not on a read-only volume.

    Source: kubernetes, pkg/kubelet/kubelet_pods.go, makeMounts (SafeMakeDir).
    """
    claims = {each["name"]: each.get("persistentVolumeClaim") or {} for each in pod["spec"].get("volumes") or []}
    for mount in mounts:
        read_only = claims.get(mount.name, {}).get("readOnly")
        if mount.sub_path and read_only and not contents.under(mount.volume, mount.sub_path):
            return f'failed to create subPath directory for volumeMount "{mount.name}" of container "{container}"'
    return None


def _key(volume: Object, pod: Object, node: str, find: Find) -> str:
    if volume.get("hostPath"):
        return f"host:{node}:{volume['hostPath']['path']}"
    claim = claim_name(volume, pod)
    if claim is not None:
        namespace = pod["metadata"]["namespace"]
        bound = ((find("claims", claim, namespace) or {}).get("spec") or {}).get("volumeName", "")
        persistent = find("volumes", bound, None) or {}
        return volume_key(persistent) if persistent else f"claim:{namespace}/{claim}"
    return f"pod:{pod['metadata']['uid']}:{volume['name']}"


def volume_key(volume: Object) -> str:
    """The contents' key of a PersistentVolume: the file system or disk, however many volumes point to it."""
    csi, local = volume["spec"].get("csi"), volume["spec"].get("local")
    if local and not _of_one_node(volume):
        return f"local:{local['path']}"
    if not csi:
        return f"volume:{volume['metadata']['name']}"
    told = csi.get("volumeAttributes") or {}
    if told.get("staticVolume") == "true":
        # Ceph's driver takes the handle of such a volume for a mere name (ceph-csi, docs/static-pvc.md).
        return f"csi:{csi['driver']}:{told.get('fsName', '')}:{told.get('rootPath', '')}"
    if "dnsname" in told:
        # FSx' driver mounts `dnsname@tcp:/mountname` whatever the handle is (aws-fsx-csi-driver, pkg/driver/node.go).
        return f"csi:{csi['driver']}:{told['dnsname']}:{told.get('mountname', '')}"
    return f"csi:{csi['driver']}:{csi['volumeHandle'].partition('|')[0]}"


def _of_one_node(volume: Object) -> bool:
    """Whether a local volume is bound to a node by its name; what many nodes have at one path, they share."""
    terms = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or []
    rules = [rule for term in terms for rule in term.get("matchExpressions") or []]
    return any(rule["key"] == "kubernetes.io/hostname" for rule in rules)
