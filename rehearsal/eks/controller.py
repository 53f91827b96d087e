"""What EKS itself keeps in a cluster: something that compares the AWS API with it, again and again."""

import logging
import threading
from abc import ABC, abstractmethod

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal.cloud.seen.aws import CloudError
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kubelet.world import World

log = logging.getLogger(__name__)


class Controller(ABC):
    """A thread that calls `reconcile` every so many seconds. What goes wrong is logged, and tried again."""

    def __init__(self, world: World, what: str, seconds: float) -> None:
        self._world, self._what, self._seconds = world, what, seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(10.0)

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self.reconcile()
            except (CloudError, ApiError, Unreachable, ClientError, BotoCoreError) as error:
                log.warning("%s of %s: %s", self._what, self._world.cluster, error)
            except Exception:
                log.exception("%s of %s", self._what, self._world.cluster)

    @abstractmethod
    def reconcile(self) -> None:
        """One look at everything, in small steps."""
