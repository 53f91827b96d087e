"""An operator's pod while it runs: it compares what is wanted with what is there, again and again, until it ends."""

import logging
import threading
from abc import ABC, abstractmethod

from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kubelet.program import Launch, Program

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5


class Reconciling(Program, ABC):
    """The loop of the operator NAME. What it keeps between two looks a subclass sets before this one begins."""

    NAME: str

    def __init__(self, launch: Launch) -> None:
        self._world, self._namespace = launch.world, launch.namespace
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name=self.NAME, daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def close(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            try:
                self._reconcile()
            except (ApiError, Unreachable) as error:
                log.warning("%s: %s", self.NAME, error)
                self._failed()

    @abstractmethod
    def _reconcile(self) -> None:
        """One look, and what is to do after it."""

    def _failed(self) -> None:
        """After a look that the API server refused; the next one comes in any case."""
