"""EKS add-ons: their objects in kube-system, and what EKS says of their health.

A new cluster also gets three that nobody asked for and EKS never looks at again, unless its request says otherwise.
Source: EKS API reference, CreateCluster, `bootstrapSelfManagedAddons`.
"""

import time
from collections.abc import Mapping
from typing import Any

from rehearsal.eks import addonobjects
from rehearsal.eks.addonobjects import ConfigurationError
from rehearsal.eks.addonshapes import NAMESPACE, Object
from rehearsal.eks.api.versions import default_addon_version
from rehearsal.eks.controller import Controller
from rehearsal.kubelet.world import World

MANAGER = "eks"
SELF_MANAGED = ("vpc-cni", "coredns", "kube-proxy")
INTERVAL = 0.5
# EKS waits for an add-on's pods for up to 20 minutes before it calls it degraded.
PATIENCE_SECONDS = 20.0


class Addons(Controller):
    """Installs, updates and removes the add-ons of one cluster as the AWS API describes them."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "add-ons", INTERVAL)
        self._installed: dict[str, tuple[str, list[Object]]] = {}
        self._since: dict[str, float] = {}
        self._bootstrapped = False

    def reconcile(self) -> None:
        if not self._bootstrapped:
            self._bootstrap()
        for addon in self._world.aws.addons(self._world.cluster):
            self._reconcile(addon)

    def _bootstrap(self) -> None:
        """What a new cluster comes with."""
        if self._world.aws.bootstraps_addons(self._world.cluster):
            kubernetes = self._world.aws.cluster(self._world.cluster)["version"]
            for name in SELF_MANAGED:
                for each in addonobjects.objects(name, default_addon_version(name, kubernetes), {}):
                    self._world.kube.apply(each, MANAGER, force=True)
        self._bootstrapped = True

    def _reconcile(self, addon: Mapping[str, Any]) -> None:
        name, status = str(addon["addonName"]), str(addon["status"])
        try:
            values = addonobjects.configuration(addon.get("configurationValues"))
        except ConfigurationError as error:
            self._put(name, "CREATE_FAILED", [{"code": "ConfigurationConflict", "message": str(error)}])
            return
        wanted = addonobjects.objects(name, str(addon["addonVersion"]), values)
        if status == "DELETING":
            self._remove(name, wanted)
            return
        self._install(name, f"{addon['addonVersion']} {addon.get('configurationValues')}", wanted)
        self._judge(name, status, wanted)

    def _install(self, name: str, recipe: str, wanted: list[Object]) -> None:
        before = self._installed.get(name)
        if before is not None and before[0] == recipe:
            return
        for each in wanted:
            self._world.kube.apply(each, MANAGER, force=True)
        self._installed[name] = (recipe, wanted)
        self._since[name] = time.monotonic()

    def _remove(self, name: str, wanted: list[Object]) -> None:
        for each in reversed(wanted):
            self._world.kube.delete(each)
        self._installed.pop(name, None)
        if not any(self._found(each) for each in wanted if each["kind"] in ("DaemonSet", "Deployment")):
            self._put(name, "GONE", [])

    def _judge(self, name: str, status: str, wanted: list[Object]) -> None:
        """ACTIVE when its workloads are available; degraded when they have not been for a while."""
        lacking = [each["metadata"]["name"] for each in wanted if not self._available(each)]
        if not lacking:
            self._since[name] = time.monotonic()
            if status != "ACTIVE":
                self._put(name, "ACTIVE", [])
            return
        if time.monotonic() - self._since.get(name, 0.0) > PATIENCE_SECONDS and status != "DEGRADED":
            message = "The add-on is unhealthy because it doesn't have the desired number of replicas."
            self._put(
                name, "DEGRADED", [{"code": "InsufficientNumberOfReplicas", "message": message, "resourceIds": lacking}]
            )

    def _found(self, obj: Object) -> dict[str, Any] | None:
        store = "daemonsets" if obj["kind"] == "DaemonSet" else "deployments"
        return self._world.find(store, obj["metadata"]["name"], NAMESPACE)

    def _available(self, obj: Object) -> bool:
        """Whether a workload has what it wants: a DaemonSet without any node wants nothing."""
        if obj["kind"] not in ("DaemonSet", "Deployment"):
            return True
        found = self._found(obj)
        status = (found or {}).get("status") or {}
        if found is None or status.get("observedGeneration", 0) < found["metadata"].get("generation", 0):
            return False
        if obj["kind"] == "DaemonSet":
            return bool(status.get("numberAvailable", 0) >= status.get("desiredNumberScheduled", 0))
        return bool(status.get("availableReplicas", 0) >= obj["spec"]["replicas"])

    def _put(self, name: str, status: str, issues: list[dict[str, Any]]) -> None:
        body = {"status": status, "issues": issues}
        self._world.aws.control("PUT", f"addons/{self._world.region}/{self._world.cluster}/{name}", body)
