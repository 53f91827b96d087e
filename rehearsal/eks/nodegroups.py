"""The managed node groups of one cluster, kept as the AWS API describes them."""

import logging

from botocore.exceptions import ClientError

from rehearsal.cluster import awsauth
from rehearsal.eks.controller import Controller
from rehearsal.eks.nodegroup import NodeGroup
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.world import World

log = logging.getLogger(__name__)

INTERVAL = 0.7
MANAGER = "eks"


class NodeGroups(Controller):
    """Looks at all node groups of the cluster, each step small."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "node groups", INTERVAL)
        self._groups: dict[str, NodeGroup] = {}
        self._entered: set[str] = set()

    def reconcile(self) -> None:
        described = {each["nodegroupName"]: each for each in self._world.aws.nodegroups(self._world.cluster)}
        for name in [name for name in self._groups if name not in described]:
            del self._groups[name]
        if not described:
            return
        live = self._world.aws.live_instances()
        for name, body in described.items():
            group = self._groups.setdefault(name, NodeGroup(self._world, name))
            try:
                self._enter(body["nodeRole"])
                if group.reconcile(body, live):
                    del self._groups[name]
            except (ApiError, ClientError) as error:
                log.warning("node group %s: %s", name, error)

    def _enter(self, role: str) -> None:
        """EKS maps a node group's role where the cluster has no access entries; once, for the map is the user's."""
        mode = self._world.aws.cluster(self._world.cluster)["accessConfig"]["authenticationMode"]
        if mode != "CONFIG_MAP" or role in self._entered:
            return
        found = self._world.kube.get("v1", "ConfigMap", awsauth.NAME, awsauth.NAMESPACE)
        if not awsauth.maps_node(found, role):
            self._world.kube.apply(awsauth.with_node(found, role), MANAGER, force=True)
        self._entered.add(role)
