"""Rules about volumes: modes that their driver knows, claims that fit their volumes, memory that fits its limit."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import copies, metadata_of, namespace_of, quantity, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.network import subnets_of, zones_of
from policy.owners import IN_CHARTS, chart_of
from policy.pods import is_kubernetes, pods
from policy.pools import pools
from policy.rule import Finding, rule

MODES: Mapping[str, frozenset[str]] = {
    "fsx.csi.aws.com": frozenset({"ReadWriteMany"}),
    "ebs.csi.aws.com": frozenset({"ReadWriteOnce", "ReadWriteOncePod"}),
    "kubernetes.io/aws-ebs": frozenset({"ReadWriteOnce", "ReadWriteOncePod"}),
    "efs.csi.aws.com": frozenset({"ReadWriteMany", "ReadWriteOnce"}),
    "s3.csi.aws.com": frozenset({"ReadWriteMany", "ReadOnlyMany"}),
}
"""What a driver's nodes agree to mount. FSx knows ReadWriteOnce too, which would leave it to one node."""

BRINGING = ("rook-ceph", "longhorn", "openebs", "local-path-provisioner", "local-static-provisioner")
AWS_CHARTS = ("aws-fsx-csi-driver", "aws-ebs-csi-driver", "aws-efs-csi-driver")
OF_ONE_ZONE = ("ebs.csi.aws.com", "kubernetes.io/aws-ebs")
FIELDS_OF_FSX = ("dnsname", "mountname")


def _claims(graph: Graph) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(logical name, what it is, spec) of each claim: alone, in a StatefulSet, in a pod."""
    for each in graph.of_type("PersistentVolumeClaim"):
        if is_kubernetes(each):
            yield each.name, "claim", spec_of(each)
    for each in graph.resources.values():
        if is_kubernetes(each) and each.kind == "StatefulSet":
            for template in spec_of(each).get("volumeClaimTemplates") or []:
                yield each.name, "volumeClaimTemplate", template.get("spec") or {}
    for pod in pods(graph):
        for volume in pod.spec.get("volumes") or []:
            if template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
                yield pod.owner, "ephemeral volume", template.get("spec") or {}


def _driver(graph: Graph, claim: Mapping[str, Any]) -> str:
    """The driver that a claim ends at: of its volume, its class or the default class; empty where nothing says so."""
    for each in graph.of_type("PersistentVolume"):
        if claim.get("volumeName") and metadata_of(each).get("name") == claim["volumeName"]:
            return str((spec_of(each).get("csi") or {}).get("driver", ""))
    name = claim.get("storageClassName")
    for each in graph.of_type("StorageClass"):
        if metadata_of(each).get("name") == name or (name is None and _is_default(each)):
            return str(each.inputs.get("provisioner", ""))
    return ""


def _is_default(each: Resource) -> bool:
    annotations = metadata_of(each).get("annotations") or {}
    return annotations.get("storageclass.kubernetes.io/is-default-class") == "true"


@rule(
    source="aws-fsx-csi-driver v1.9: pkg/driver/controller.go (volumeCaps), aws-ebs-csi-driver controller.go, "
    "aws-efs-csi-driver node.go; kubernetes pkg/volume/csi/csi_mounter.go takes accessModes[0]",
    remedy="ReadWriteMany on fsx.csi.aws.com, read-only by the pod's volume (readOnly: true); ReadWriteOnce on "
    "ebs.csi.aws.com",
)
def modes_known_to_driver(graph: Graph) -> Iterator[Finding]:
    """The driver supports the access modes of its volumes and claims (LF01)."""
    asked = [(*claim, _driver(graph, claim[2])) for claim in _claims(graph)]
    for each in graph.of_type("PersistentVolume"):
        asked.append((each.name, "volume", spec_of(each), str((spec_of(each).get("csi") or {}).get("driver", ""))))
    for name, what, spec, driver in asked:
        known = MODES.get(driver)
        modes = spec.get("accessModes") or []
        if spec.get("volumeMode") == "Block" or known is None:
            continue
        if not modes or set(modes) - known:
            said = ", ".join(modes) or "none"
            yield name, f"has a {what} with the access modes {said}; {driver} mounts {', '.join(sorted(known))}"


@rule(
    source="Kubernetes: Persistent Volumes, Binding (class, modes, capacity, volumeName, claimRef); "
    "DefaultStorageClass admission; aws-fsx-csi-driver: volumeAttributes dnsname, mountname",
    remedy="give claim and volume one storageClassName (''), modes, mode and at least the size asked for; "
    "volumeName on the claim, claimRef on the volume",
)
def claims_fit_their_volumes(graph: Graph) -> Iterator[Finding]:
    """A claim that names a volume can be bound to it (KJ16, KJ18)."""
    volumes = {metadata_of(each).get("name"): each for each in graph.of_type("PersistentVolume")}
    claims = [each for each in graph.of_type("PersistentVolumeClaim") if is_kubernetes(each)]
    default = next((each for each in graph.of_type("StorageClass") if _is_default(each)), None)
    taken: dict[str, str] = {}
    for each in claims:
        wanted = spec_of(each).get("volumeName")
        if not wanted:
            continue
        if wanted in taken:
            yield each.name, f"names the volume {wanted}, which {taken[wanted]} names too"
        taken.setdefault(wanted, each.name)
        if wanted in volumes:
            yield from _mismatches(each, volumes[wanted], default)
        elif volumes:
            yield each.name, f"names the volume {wanted}, which nothing creates"
    for volume in volumes.values():
        bound = spec_of(volume).get("claimRef") or {}
        there = [(namespace_of(each), metadata_of(each).get("name")) for each in claims]
        known = UNKNOWN not in str(there)
        if bound.get("name") and claims and known and (bound.get("namespace", "default"), bound["name"]) not in there:
            yield (
                volume.name,
                f"is reserved for the claim {bound['name']} in {bound.get('namespace')}, which nothing creates",
            )
        csi = spec_of(volume).get("csi") or {}
        if csi.get("driver") == "fsx.csi.aws.com" and (
            missing := [field for field in FIELDS_OF_FSX if not (csi.get("volumeAttributes") or {}).get(field)]
        ):
            yield volume.name, f"has no {', '.join(missing)} among its volumeAttributes, which the FSx driver needs"


def _mismatches(claim: Resource, volume: Resource, default: Resource | None) -> Iterator[Finding]:
    asked, given = spec_of(claim), spec_of(volume)
    if asked.get("storageClassName") is None and default:
        yield claim.name, f"names no class and gets the default one ({metadata_of(default).get('name')}); write ''"
    elif (asked.get("storageClassName") or "") != (given.get("storageClassName") or ""):
        yield claim.name, f"is of the class '{asked.get('storageClassName') or ''}', which its volume is not"
    if lacking := sorted(set(asked.get("accessModes") or []) - set(given.get("accessModes") or [])):
        yield claim.name, f"asks for {', '.join(lacking)}, which its volume {volume.name} does not offer"
    if asked.get("volumeMode", "Filesystem") != given.get("volumeMode", "Filesystem"):
        yield (
            claim.name,
            f"asks for a {asked.get('volumeMode', 'Filesystem')} and its volume is a {given.get('volumeMode')}",
        )
    wanted = ((asked.get("resources") or {}).get("requests") or {}).get("storage")
    offered = (given.get("capacity") or {}).get("storage")
    if (quantity(wanted) or 0) > (quantity(offered) or quantity(wanted) or 0):
        yield claim.name, f"asks for {wanted} of a volume of {offered}"
    bound = given.get("claimRef") or {}
    here = (namespace_of(claim), metadata_of(claim).get("name"))
    if bound.get("name") and (bound.get("namespace", "default"), bound["name"]) != here:
        yield claim.name, f"names a volume that is kept for {bound['name']} in {bound.get('namespace', 'default')}"


@rule(
    source="Kubernetes: ReadWriteOnce; https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes",
    remedy="give the claim a class that is shared (ReadWriteMany), or each pod its own by volumeClaimTemplates",
)
def one_node_claims_have_one_pod(graph: Graph) -> Iterator[Finding]:
    """A ReadWriteOnce claim is mounted by one pod (G32)."""
    modes = {
        (namespace_of(each), metadata_of(each).get("name")): set(spec_of(each).get("accessModes") or [])
        for each in graph.of_type("PersistentVolumeClaim")
    }
    for pod in pods(graph):
        for volume in pod.spec.get("volumes") or []:
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            found = modes.get((pod.namespace, name))
            if found and found <= {"ReadWriteOnce", "ReadWriteOncePod"} and copies(pod) > 1:
                yield pod.owner, f"mounts the claim {name}, which one node can mount at a time, in {copies(pod)} pods"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode: by "
    "Immediate, the default, a volume's zone is drawn before its pod has a node; aws-ebs-csi-driver issue 760",
    remedy="set volumeBindingMode: WaitForFirstConsumer",
)
def zonal_volumes_wait_for_pods(graph: Graph) -> Iterator[Finding]:
    """A class whose volumes are of one zone, or one node, binds when the pod has its node."""
    zones = {zone for pool in pools(graph) for zone in zones_of(subnets_of(graph, pool.group))}
    for each in graph.of_type("StorageClass"):
        driver, mode = str(each.inputs.get("provisioner")), each.inputs.get("volumeBindingMode", "Immediate")
        bound = "allowedTopologies" not in each.inputs and mode != "WaitForFirstConsumer"
        if bound and driver in OF_ONE_ZONE and len(zones) > 1:
            yield each.name, f"binds at once, and nodes are in {len(zones)} zones: a volume may be where no pod can be"
        elif bound and driver == "kubernetes.io/no-provisioner":
            yield each.name, "binds at once to the disk of any node, where its pod may not fit"


@rule(
    source="Kubernetes: volumeMounts name volumes of the pod, each at a path of its own (mountPath: must be unique); "
    "https://kubernetes.io/docs/concepts/storage/volumes/",
    remedy="write the volume among the pod's volumes, or take the mount out",
)
def mounts_have_their_volume(graph: Graph) -> Iterator[Finding]:
    """A container mounts volumes of its pod or claim templates of its StatefulSet, one at a path (N05)."""
    for pod in pods(graph):
        made = [
            (each.get("metadata") or {}).get("name") for each in spec_of(pod.maker).get("volumeClaimTemplates") or []
        ]
        made += [each.get("name") for each in pod.spec.get("volumes") or []]
        mounts = [mount.get("name") for each in pod.containers for mount in each.get("volumeMounts") or []]
        if lost := sorted({str(each) for each in mounts} - {str(each) for each in made}):
            yield pod.owner, f"mounts {', '.join(lost)}, which is no volume of the pod ({pod.path})"
        for each in pod.containers:
            paths = Counter(mount.get("mountPath") for mount in each.get("volumeMounts") or [])
            for path in (path for path, times in paths.items() if times > 1):
                yield pod.owner, f"mounts {paths[path]} volumes at {path} in {each.get('name')}"


@rule(
    source="Kubernetes: CSIDriver; EKS guide: storage add-ons",
    remedy="write fsx.csi.aws.com, ebs.csi.aws.com or efs.csi.aws.com, or register what brings the driver",
)
def drivers_are_there(graph: Graph) -> Iterator[Finding]:
    """The driver of a volume or storage class is installed (KJ18)."""
    brought = {metadata_of(each).get("name") for each in graph.of_type("CSIDriver")}
    charts = [chart_of(each) for each in graph.of_type(*IN_CHARTS)]
    unknown = any(chart in BRINGING or "csi" in chart for chart in charts if chart not in AWS_CHARTS)
    named = [(each.name, (spec_of(each).get("csi") or {}).get("driver")) for each in graph.of_type("PersistentVolume")]
    named += [(each.name, each.inputs.get("provisioner")) for each in graph.of_type("StorageClass")]
    for name, driver in named if graph.of_type("aws:eks/cluster:Cluster") and not unknown else ():
        if driver and driver not in (*MODES, "kubernetes.io/no-provisioner") and driver not in brought:
            yield name, f"uses the driver {driver}, which nothing installs"
