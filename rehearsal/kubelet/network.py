"""The cluster's network as its nodes know it: addresses of pods and machines from the kubelets' own copies."""

from rehearsal.cluster.backends import Address
from rehearsal.cluster.router import Router
from rehearsal.kubelet.world import World


class Network(Router):
    """Knows what a machine's address belongs to beside its pods: the kubelet. Asks the API server for Services only."""

    def __init__(self, world: World, api_server: Address) -> None:
        super().__init__(world.kube, world.backends, api_server)
        self._world = world

    def owners(self, ip: str) -> list[tuple[str, str]]:
        machines = [("", host.node) for host in self._world.hosts.at(ip)]
        return machines + [
            (pod["metadata"]["namespace"], pod["metadata"]["name"])
            for pod in self._world.stores["pods"].having("address", ip)
            if not pod["metadata"].get("deletionTimestamp")
        ]
