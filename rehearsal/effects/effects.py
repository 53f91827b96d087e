"""All effects of one cluster, started and stopped together by the site's supervisor."""

from __future__ import annotations

import logging
import threading

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.effects import services
from rehearsal.effects.addons import Addons
from rehearsal.effects.aws import Aws
from rehearsal.effects.contents import Contents
from rehearsal.effects.hosts import Hosts
from rehearsal.effects.informer import Informer
from rehearsal.effects.kubelet import Kubelet
from rehearsal.effects.nodegroups import NodeGroups
from rehearsal.effects.tasks import Tasks
from rehearsal.effects.world import KINDS, Recorder, World
from rehearsal.toolchain import Tools

log = logging.getLogger(__name__)

SYNC_SECONDS = 30.0
PATIENCE_SECONDS = 20.0
OPTIONAL = ("policies",)


class Effects:
    """Node groups, add-ons, kubelets and images of the EKS cluster `name` of a running control plane.

    The cluster need not be ACTIVE in the account yet: nothing happens before it has add-ons or node groups.
    """

    def __init__(
        self, cluster: ControlPlane, cloud_url: str, region: str, name: str, tools: Tools, backends: Backends
    ) -> None:
        directory = cluster.directory / "effects"
        self._stop = threading.Event()
        kube = cluster.kube().patient(PATIENCE_SECONDS, self._stop)
        self._watching = cluster.kube()
        stores = {store: Informer(self._watching, *kind) for store, kind in KINDS.items()}
        self.world = World(
            kube=kube,
            aws=Aws(cloud_url, region),
            cluster=name,
            region=region,
            endpoint=cluster.endpoint,
            ca=cluster.ca,
            directory=directory,
            hosts=Hosts(),
            contents=Contents(directory / "volumes.json"),
            events=Recorder(kube),
            tools=tools,
            backends=backends,
            tasks=Tasks(),
            stores=stores,
        )
        self._kubelet = Kubelet(self.world)
        self._nodegroups = NodeGroups(self.world)
        self._addons = Addons(self.world)

    def start(self) -> None:
        """Begins; returns once the present objects are known, so that nothing is done twice."""
        for informer in self.world.stores.values():
            informer.start()
        for store, informer in self.world.stores.items():
            if store not in OPTIONAL and not informer.synced.wait(SYNC_SECONDS):
                log.warning("%s of cluster %s are not known yet", store, self.world.cluster)
        self.world.events.start()
        self.world.tasks.start()
        self._kubelet.start()
        self._nodegroups.start()
        self._addons.start()

    def stop(self) -> None:
        """Ends every thread and process of the effects; the cluster keeps what it shows."""
        self._stop.set()
        self._addons.stop()
        self._nodegroups.stop()
        for informer in self.world.stores.values():
            informer.stop()
        self._kubelet.stop()
        self.world.tasks.stop()
        self.world.events.stop()
        self._watching.close()

    def reachable(self, namespace: str, service: str) -> list[services.Reach]:
        """Whether something answers behind each port of a Service, and why not."""
        return services.reachable(self.world.kube, namespace, service, self._kubelet.listening)
