"""Gives every EKS cluster of the account its control plane, and takes it away again, as EKS would."""

import base64
import json
import logging
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import urllib3

from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.eks import reach
from rehearsal.eks.front import Front
from rehearsal.eks.inside import Inside
from rehearsal.keys import Account
from rehearsal.kubelet.images import Images
from rehearsal.processes import StartError
from rehearsal.toolchain import Tools

log = logging.getLogger(__name__)

INTERVAL = 0.3
Key = tuple[str, str]


class Cloud:
    """The routes of the AWS stand-in by which a rehearsal tells it what became of a cluster."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.url = account.url
        self._pool = urllib3.PoolManager(retries=False, timeout=10.0, headers=account.headers)

    def healthy(self) -> bool:
        try:
            return self._pool.request("GET", f"{self.url}/rehearsal/health", timeout=2.0).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def clusters(self) -> dict[Key, str]:
        """The status of every EKS cluster by region and name. Raises urllib3's HTTPError."""
        answer = self._pool.request("GET", f"{self.url}/rehearsal/clusters")
        return {(each["region"], each["name"]): each["status"] for each in json.loads(answer.data)}

    def put_cluster(self, region: str, name: str, state: Mapping[str, Any]) -> None:
        """Report a cluster's status; raises urllib3's HTTPError, also if the account refuses it."""
        answer = self._pool.request("PUT", f"{self.url}/rehearsal/clusters/{region}/{name}", json=dict(state))
        if answer.status >= 400:
            raise urllib3.exceptions.HTTPError(f"status {answer.status}: {answer.data.decode(errors='replace')}")


class Keeper:
    """One cluster's thread: start its control plane, keep it running, stop it.

    `release()` deletes the cluster's directory and reports it gone; `stop()` only ends the processes.
    """

    def __init__(
        self, cloud: Cloud, region: str, name: str, *, directory: Path, logs: Path, tools: Tools, images: Images
    ) -> None:
        self.region = region
        self.name = name
        self._cloud = cloud
        self._tools = tools
        self._images = images
        self._directory = directory
        self._plane = ControlPlane(directory, name, region, cloud.account, tools, logs=logs)
        self._ending = threading.Event()
        self._release = False
        self._thread = threading.Thread(target=self._run, name=f"cluster {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def release(self) -> None:
        """Begin to take the cluster away; returns at once."""
        self._release = True
        self._ending.set()

    def stop(self) -> None:
        """Begin to end the cluster's processes; returns at once."""
        self._ending.set()

    def ended(self, timeout: float | None = 0.0) -> bool:
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._live()
        except Exception as error:
            log.exception("cluster %s cannot be kept", self.name)
            first, _, _ = str(error).partition("\n")
            issue = {"code": "InternalFailure", "message": f"{first or type(error).__name__} (see supervisor.log)"}
            self._report({"status": "FAILED", "issues": [issue]})
            self._ending.wait()
        if self._release:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._report({"status": "GONE"})

    def _live(self) -> None:
        log.info("starting a control plane for cluster %s in %s", self.name, self.region)
        self._plane.start()
        try:
            effects = Inside(self._plane, self._cloud.account, self.region, self.name, self._tools, self._images)
            effects.start()
            front = Front(self._plane.port, lambda: self._plane.barred() or reach.ask(effects.world.aws, self.name))
            front.start()
            try:
                self._report(active(self._plane, front.endpoint))
                while not self._ending.wait(INTERVAL):
                    self._tend()
            finally:
                front.stop()
                effects.stop()
        finally:
            self._plane.stop()
            log.info("the control plane of cluster %s is stopped", self.name)

    def _tend(self) -> None:
        try:
            self._plane.tend()
        except (StartError, OSError) as error:  # of a full disk nothing can be started now, but once there is room
            log.warning("%s", error)

    def _report(self, state: Mapping[str, Any]) -> None:
        try:
            self._cloud.put_cluster(self.region, self.name, state)
        except urllib3.exceptions.HTTPError as error:
            log.warning("the cloud was not told that cluster %s is %s: %s", self.name, state["status"], error)


def active(plane: ControlPlane, endpoint: str) -> dict[str, str]:
    """What DescribeCluster is to say of a cluster that runs."""
    authority = base64.b64encode(plane.ca).decode()
    return {"status": "ACTIVE", "endpoint": endpoint, "certificateAuthority": authority}


class Clusters:
    """All keepers of one account; call `reconcile()` now and then."""

    def __init__(self, cloud: Cloud, directory: Path, logs: Path, tools: Tools, images: Images) -> None:
        self._cloud = cloud
        self._directory = directory
        self._logs = logs
        self._tools = tools
        self._images = images
        self._keepers: dict[Key, Keeper] = {}

    def reconcile(self) -> None:
        """Compare the account's clusters with ours. Raises urllib3's HTTPError if the cloud does not answer."""
        found = self._cloud.clusters()
        for key in [key for key, keeper in self._keepers.items() if keeper.ended()]:
            del self._keepers[key]
        for key, status in found.items():
            if status == "CREATING" and key not in self._keepers:
                self._keepers[key] = self._keep(*key)
        for key, keeper in self._keepers.items():
            if found.get(key, "DELETING") == "DELETING":
                keeper.release()

    def stop(self) -> None:
        """End all control planes, side by side."""
        for keeper in self._keepers.values():
            keeper.stop()
        for keeper in self._keepers.values():
            keeper.ended(timeout=None)
        self._keepers.clear()

    def _keep(self, region: str, name: str) -> Keeper:
        place = Path(region) / name
        keeper = Keeper(
            self._cloud,
            region,
            name,
            directory=self._directory / place,
            logs=self._logs / place,
            tools=self._tools,
            images=self._images,
        )
        keeper.start()
        return keeper
