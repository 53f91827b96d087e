"""The managed node groups of one cluster, kept as the AWS API describes them."""

from __future__ import annotations

import logging

from botocore.exceptions import ClientError

from rehearsal.effects.controller import Controller
from rehearsal.effects.nodegroup import NodeGroup
from rehearsal.effects.world import World
from rehearsal.kube.client import ApiError

log = logging.getLogger(__name__)

INTERVAL = 0.7


class NodeGroups(Controller):
    """Looks at all node groups of the cluster, each step small."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "node groups", INTERVAL)
        self._groups: dict[str, NodeGroup] = {}

    def reconcile(self) -> None:
        described = {each["nodegroupName"]: each for each in self._world.aws.nodegroups(self._world.cluster)}
        for name in [name for name in self._groups if name not in described]:
            del self._groups[name]
        if not described:
            return
        states = self._world.aws.instance_states()
        for name, body in described.items():
            group = self._groups.setdefault(name, NodeGroup(self._world, name))
            try:
                if group.reconcile(body, states):
                    del self._groups[name]
            except (ApiError, ClientError) as error:
                log.warning("node group %s: %s", name, error)
