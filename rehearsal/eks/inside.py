"""All effects of one cluster, started and stopped together by the site's supervisor."""

import logging
import threading
from collections.abc import Callable, Sequence

from rehearsal import places
from rehearsal.cloud.seen.aws import Aws
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.layout import CURL
from rehearsal.cluster.proxy import Proxy
from rehearsal.eks.addons import Addons
from rehearsal.eks.balancers import Balancers
from rehearsal.eks.controller import Controller
from rehearsal.eks.nodegroups import NodeGroups
from rehearsal.eks.nodeserver import NodeServers
from rehearsal.eks.selfmanaged import SelfManaged
from rehearsal.keys import Account
from rehearsal.kube.informer import Informer
from rehearsal.kubelet import orders, services
from rehearsal.kubelet.allotted import Allotted
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.hosts import Hosts
from rehearsal.kubelet.images import Images
from rehearsal.kubelet.kubelet import Kubelet
from rehearsal.kubelet.network import Network
from rehearsal.kubelet.tasks import Tasks
from rehearsal.kubelet.world import KINDS, PARTS, Recorder, World
from rehearsal.toolchain import Tools

log = logging.getLogger(__name__)

SYNC_SECONDS = 30.0
PATIENCE_SECONDS = 20.0
OPTIONAL = ("policies",)


def managed(world: World) -> Sequence[Controller]:
    """What EKS keeps in a cluster."""
    return NodeGroups(world), SelfManaged(world), Addons(world), Balancers(world)


class Inside:
    """Kubelets of the cluster `name` of a running control plane, which know `images`, and what `keep` has in it.

    An EKS cluster need not be ACTIVE in the account yet: nothing happens before it has add-ons or node groups.
    """

    def __init__(
        self,
        cluster: ControlPlane,
        account: Account,
        region: str,
        name: str,
        tools: Tools,
        images: Images,
        keep: Callable[[World], Sequence[Controller]] = managed,
    ) -> None:
        directory = cluster.directory / "effects"
        self._told = cluster.proxy
        self._stop = threading.Event()
        kube = cluster.kube().patient(PATIENCE_SECONDS, self._stop)
        self._watching = cluster.kube()
        stores = {store: Informer(self._watching, *kind, PARTS.get(store, {})) for store, kind in KINDS.items()}
        self.world = World(
            kube=kube,
            aws=Aws(account, region),
            cluster=name,
            region=region,
            endpoint=cluster.endpoint,
            ca=cluster.ca,
            directory=directory,
            hosts=Hosts(),
            images=images,
            contents=Contents(directory / "volumes.json"),
            events=Recorder(kube),
            tools=tools,
            backends=cluster.backends,
            proxy=Proxy(cluster.backends.server),
            tasks=Tasks(),
            allotted=Allotted(),
            orders=orders.Orders(cluster.directory / orders.FILE),
            stores=stores,
            store_key=account.keys.store,
        )
        self._network = Network(self.world, (places.LOOPBACK, cluster.port))
        self._kubelet = Kubelet(self.world)
        NodeServers(self.world)
        self._kept = keep(self.world)

    def start(self) -> None:
        """Begins; returns once the present objects are known, so that nothing is done twice."""
        for informer in self.world.stores.values():
            informer.start()
        for store, informer in self.world.stores.items():
            if store not in OPTIONAL and not informer.synced.wait(SYNC_SECONDS):
                log.warning("%s of cluster %s are not known yet", store, self.world.cluster)
        self.world.events.start()
        self.world.tasks.start()
        self.world.proxy.start(self._network)
        places.write(self._told, self.world.proxy.url)
        # A configuration of curl's: words on its command line are seen by everybody on the machine.
        places.write(self._told.with_name(CURL), f'proxy = "{self.world.proxy.url}"\n')
        self._kubelet.start()
        for each in self._kept:
            each.start()

    def stop(self) -> None:
        """Ends every thread and process of the effects; the cluster keeps what it shows."""
        self._stop.set()
        for each in reversed(self._kept):
            each.stop()
        for informer in self.world.stores.values():
            informer.stop()
        self._kubelet.stop()
        self._told.unlink(missing_ok=True)
        self.world.proxy.stop()
        self.world.tasks.stop()
        self.world.events.stop()
        self._watching.close()

    def reachable(self, namespace: str, service: str) -> list[services.Reach]:
        """Whether something answers behind each port of a Service, and why not."""
        return services.reachable(self.world.kube, namespace, service, self._kubelet.listening)
