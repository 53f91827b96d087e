"""The managed node groups of one cluster, kept as the AWS API describes them."""

from __future__ import annotations

import logging
import threading

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal.effects.aws import CloudError
from rehearsal.effects.nodegroup import NodeGroup
from rehearsal.effects.world import World
from rehearsal.kube.client import ApiError, Unreachable

log = logging.getLogger(__name__)

INTERVAL = 0.7


class NodeGroups:
    """Looks at all node groups of the cluster again and again, each step small."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._groups: dict[str, NodeGroup] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nodegroups", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(10.0)

    def _run(self) -> None:
        while not self._stopped.wait(INTERVAL):
            try:
                self._reconcile()
            except (CloudError, ApiError, Unreachable, ClientError, BotoCoreError) as error:
                log.warning("node groups of %s: %s", self._world.cluster, error)
            except Exception:
                log.exception("node groups of %s", self._world.cluster)

    def _reconcile(self) -> None:
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
