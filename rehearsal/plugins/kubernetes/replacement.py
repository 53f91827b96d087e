"""Which changes make a new object, and in which order old and new follow each other.

The table is that of pulumi-kubernetes 4.34 (provider/pkg/provider/diff.go). A field that Kubernetes refuses to change
but that is not in it fails at the dry run of the preview, there as here.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes.objects import AUTONAMED, REPLACE_UNREADY, dig, flagged
from rehearsal.plugins.kubernetes.podcheck import job_ready
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.plugins.wire import Path

IDENTITY = ("metadata.name", "metadata.namespace", "apiVersion", "kind")

_VOLUME_SOURCES_TEXT = """
    awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker gcePersistentDisk glusterfs
    hostPath iscsi local nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume
"""
_VOLUME_SOURCES = tuple(_VOLUME_SOURCES_TEXT.split())
_POD_FIELDS_TEXT = """
    affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostAliases hostIPC hostNetwork
    hostPID hostname imagePullSecrets nodeName nodeSelector overhead preemptionPolicy priority priorityClassName
    readinessGates restartPolicy runtimeClassName schedulerName securityContext serviceAccount serviceAccountName
    shareProcessNamespace subdomain terminationGracePeriodSeconds volumes containers initContainers
"""
_POD_FIELDS = tuple(_POD_FIELDS_TEXT.split())

FORCE_NEW: dict[str, tuple[str, ...]] = {
    "apps/DaemonSet": ("spec.selector",),
    "apps/Deployment": ("spec.selector",),
    "apps/StatefulSet": (
        "spec.podManagementPolicy",
        "spec.revisionHistoryLimit",
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    "batch/Job": ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    "/PersistentVolume": tuple(f"spec.{source}" for source in _VOLUME_SOURCES),
    "/PersistentVolumeClaim": ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
    "/Pod": tuple(f"spec.{field}" for field in _POD_FIELDS),
    "/ResourceQuota": ("spec.scopes",),
    "/Service": ("spec.clusterIP",),
    "rbac.authorization.k8s.io/ClusterRoleBinding": ("roleRef",),
    "rbac.authorization.k8s.io/RoleBinding": ("roleRef",),
    "storage.k8s.io/StorageClass": ("parameters", "provisioner"),
}


def forcing(inputs: Mapping[str, Any], settings: ProviderSettings) -> tuple[str, ...]:
    """The fields of this object, as dotted paths, whose change replaces it."""
    api_version, kind = str(inputs.get("apiVersion")), str(inputs.get("kind"))
    group = api_version.rpartition("/")[0]
    fields = FORCE_NEW.get(f"{group}/{kind}", ())
    if api_version == "v1" and kind == "Secret":
        frozen = not settings.secret_mutable or inputs.get("immutable")
        fields = ("type", "stringData", "data") if frozen else ("type",)
    if api_version == "v1" and kind == "ConfigMap" and (not settings.config_map_mutable or inputs.get("immutable")):
        fields = ("binaryData", "data")
    return IDENTITY + fields


def replaced(changed: Iterable[Path], fields: tuple[str, ...]) -> list[Path]:
    """The changed paths that lie at, below or above one of the fields."""
    split = [tuple(field.split(".")) for field in fields]
    return [path for path in changed if any(_meets(path, field) for field in split)]


def _meets(path: Path, field: tuple[str, ...]) -> bool:
    shorter = min(len(path), len(field))
    return path[:shorter] == field[:shorter]


def unready_job(inputs: Mapping[str, Any], kube: Kube | None) -> bool:
    """Whether the inputs ask (`pulumi.com/replaceUnready`) to replace a Job that has not completed, and it has not."""
    if kube is None or not flagged(inputs, REPLACE_UNREADY) or inputs.get("kind") != "Job":
        return False
    meta = inputs["metadata"]
    try:
        live = kube.get(inputs["apiVersion"], "Job", meta["name"], meta.get("namespace"))
    except (ApiError, Unreachable):
        return False
    return live is not None and not job_ready(live)


def delete_first(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the old object must go before its replacement can be made: the program fixes name and namespace."""

    def key(obj: Mapping[str, Any]) -> tuple[Any, ...]:
        return obj.get("kind"), dig(obj, "metadata", "name"), dig(obj, "metadata", "namespace")

    return not flagged(new, AUTONAMED) and key(old) == key(new)
