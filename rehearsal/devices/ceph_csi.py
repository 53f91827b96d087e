"""The operator of Ceph's CSI drivers while its pod runs, and the drivers that it makes.

Source: ceph/ceph-csi-operator v1.0.4, internal/controller/driver_controller.go (names, containers, CSIDriver, images
from the set that a driver or the operator's configuration names; a sidecar of snapshots unless the policy is none);
ceph/ceph-csi, docs (handles, what a volume's attributes say). That a pool takes what a volume holds is not looked at.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rehearsal.devices.ceph_snapshots import Snapshotter, snapshot_key, source_of
from rehearsal.devices.daemons import csi_node
from rehearsal.devices.operands import owner
from rehearsal.devices.reconciling import Reconciling
from rehearsal.kubelet.program import Launch, Program
from rehearsal.kubelet.provisioning import Provisioning, UnmadeError, volume_of
from rehearsal.kubelet.volumes import volume_key

Object = dict[str, Any]
MANAGER = "ceph-csi-operator"
API, ROOK = "csi.ceph.io/v1", "ceph.rook.io/v1"
CONFIG = "ceph-csi-operator-config"
NODE, CONTROLLER = "-nodeplugin", "-ctrlplugin"
_KIND = re.compile(r"(?:.+\.)?(rbd|cephfs|nfs|nvmeof)\.csi\.ceph\.com")
_POOLS = {"rbd": ("CephBlockPool", "pool"), "cephfs": ("CephFilesystem", "fsName")}
"""What must be there and ready for a volume of a driver, and which parameter of a class names it."""


class CsiOperator(Reconciling):
    """Compares the drivers that are asked for with what is there."""

    NAME = MANAGER

    def __init__(self, launch: Launch) -> None:
        self._made: set[str] = set()
        super().__init__(launch)

    def _reconcile(self) -> None:
        config = self._world.kube.get(API, "OperatorConfig", CONFIG, self._namespace) or {}
        for driver in self._world.kube.list(API, "Driver", namespace=self._namespace):
            key = f"{driver['metadata']['uid']} {driver['metadata'].get('generation')}"
            if key in self._made or driver["metadata"].get("deletionTimestamp"):
                continue
            named = _image_set(driver, config)
            images = (self._world.find("configmaps", named, self._namespace) or {}).get("data") or {}
            if named and not images:
                continue
            for each in objects(driver, images):
                self._world.kube.apply(each, MANAGER, force=True)
            self._made.add(key)

    def _failed(self) -> None:
        self._made.clear()


def _image_set(driver: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    defaults = (config.get("spec") or {}).get("driverSpecDefaults") or {}
    own = (driver["spec"].get("imageSet") or {}).get("name")
    return str(own or (defaults.get("imageSet") or {}).get("name") or "")


def objects(driver: Mapping[str, Any], images: Mapping[str, str]) -> Iterator[Object]:
    """What the operator makes of a driver: its registration, what mounts on each node, and what makes volumes. Pure."""
    meta, spec = driver["metadata"], driver["spec"]
    found = _KIND.fullmatch(meta["name"])
    if found is None:
        return
    plugin = {
        "name": f"csi-{found[1]}plugin",
        "image": images.get("plugin", ""),
        "args": [f"--drivername={meta['name']}"],
    }
    yield {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": meta["name"]},
        "spec": {"attachRequired": True, "podInfoOnMount": False, "fsGroupPolicy": spec.get("fsGroupPolicy") or "File"},
    }
    node, controller = spec.get("nodePlugin") or {}, spec.get("controllerPlugin") or {}
    mounting: list[Object] = [plugin, {"name": "driver-registrar", "image": images.get("registrar", "")}]
    yield _set(driver, "DaemonSet", NODE, node, mounting, {"hostNetwork": True, "hostPID": True})
    making: list[Object] = [plugin]
    making += [
        {"name": f"csi-{each}", "image": images.get(each, "")} for each in ("provisioner", "resizer", "attacher")
    ]
    if spec.get("snapshotPolicy", "volumeSnapshot") != "none":
        making.append({"name": "csi-snapshotter", "image": images.get("snapshotter", "")})
    yield _set(driver, "Deployment", CONTROLLER, controller, making, {}, replicas=int(controller.get("replicas") or 1))


def _set(
    driver: Mapping[str, Any],
    kind: str,
    suffix: str,
    part: Mapping[str, Any],
    containers: list[Object],
    more: Mapping[str, Any],
    **counted: int,
) -> Object:
    meta, name = driver["metadata"], f"{driver['metadata']['name']}{suffix}"
    pod = {
        **more,
        "serviceAccountName": part.get("serviceAccountName") or "default",
        "tolerations": part.get("tolerations") or [],
        "containers": containers,
    }
    if part.get("priorityClassName"):
        pod["priorityClassName"] = part["priorityClassName"]
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": meta["namespace"], "ownerReferences": [owner(driver)]},
        "spec": {
            **counted,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def _app(launch: Launch) -> str:
    return str((launch.pod["metadata"].get("labels") or {}).get("app") or "")


def plugin(launch: Launch) -> Program:
    """A driver's own container: on nodes it registers, beside the controller it makes what that asks for."""
    name = _app(launch)
    return csi_node(name.removesuffix(NODE))(launch) if name.endswith(NODE) else Program()


class Provisioner(Provisioning):
    """Makes volumes for claims of its driver's classes as long as its pod runs, and deletes them afterwards."""

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch, _app(launch).removesuffix(CONTROLLER))

    def _made(self, name: str, claim: Mapping[str, Any], kind: Mapping[str, Any]) -> Object:
        if (lack := self._lacking(kind)) is not None:
            raise UnmadeError(lack)
        made = persistent_volume(name, claim, kind, self._driver)
        if (handle := source_of(self._launch, claim, kind, self._driver)) is not None:
            contents = self._launch.world.contents
            contents.add(volume_key(made), contents.under(snapshot_key(self._driver, handle), ""))
        return made

    def _lacking(self, kind: Mapping[str, Any]) -> str | None:
        """Why no volume can be made: a Secret that the class names, or the pool or file system, is not there."""
        world, parameters = self._launch.world, kind.get("parameters") or {}
        prefix = "csi.storage.k8s.io/provisioner-secret"
        secret, namespace = parameters.get(f"{prefix}-name", ""), parameters.get(f"{prefix}-namespace", "")
        if world.find("secrets", secret, namespace) is None:
            return f'error getting secret {secret} in namespace {namespace}: secrets "{secret}" not found'
        found = _KIND.fullmatch(self._driver)
        if found is None or found[1] not in _POOLS:
            return None
        pool_kind, parameter = _POOLS[found[1]]
        named = parameters.get(parameter, "")
        pool = world.kube.get(ROOK, pool_kind, named, namespace)
        if ((pool or {}).get("status") or {}).get("phase") != "Ready":
            return f"rpc error: code = Internal desc = {parameter} {named!r} not found"
        return None


def snapshotter(launch: Launch) -> Program:
    """The sidecar that has snapshots made of its driver's volumes."""
    return Snapshotter(launch, _app(launch).removesuffix(CONTROLLER))


def persistent_volume(name: str, claim: Mapping[str, Any], kind: Mapping[str, Any], driver: str) -> Object:
    """The object for a volume of Ceph's, which every node can mount. Pure."""
    parameters, uid = kind.get("parameters") or {}, claim["metadata"]["uid"]
    stage = "csi.storage.k8s.io/node-stage-secret"
    csi = {
        "driver": driver,
        "volumeHandle": f"0001-0009-{parameters.get('clusterID', '')}-0000000000000001-{uid}",
        "volumeAttributes": {
            key: parameters[key] for key in ("clusterID", "pool", "fsName", "imageFeatures") if key in parameters
        },
        "nodeStageSecretRef": {
            "name": parameters.get(f"{stage}-name", ""),
            "namespace": parameters.get(f"{stage}-namespace", ""),
        },
    }
    return volume_of(name, claim, kind, csi, claim["spec"]["resources"]["requests"]["storage"])
