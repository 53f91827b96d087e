"""One EKS cluster's control plane: five upstream processes, the token webhook and the way into its network."""

import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import urllib3

from rehearsal import places
from rehearsal.cluster import components, eks, layout
from rehearsal.cluster.access import Access
from rehearsal.cluster.backends import Backends
from rehearsal.cluster.components import API_SERVER, CONTROLLERS, ETCD, KWOK, SCHEDULER, Command
from rehearsal.cluster.egress import Egress, Router
from rehearsal.cluster.layout import Layout
from rehearsal.cluster.webhook import Webhook
from rehearsal.kube.client import Kube
from rehearsal.processes import Process, StartError
from rehearsal.toolchain import Tools

log = logging.getLogger(__name__)

START_TIMEOUT = 60.0
PORT_ATTEMPTS = 5
LONGEST_PAUSE = 30.0
STEADY = 60.0


@dataclass
class _Component:
    """One process and its history: when it began, how often it ended on its own of late, when it may start again."""

    process: Process
    grace: float
    begun: float = 0.0
    failures: int = 0
    not_before: float = 0.0
    wanted: bool = False


class ControlPlane:
    """A control plane in `directory`, of the EKS cluster `name` in `region` of the account at `cloud_url`.

    Starting again in the same directory finds the same keys and data. `endpoint`, `ca` and `admin_kubeconfig` are valid
    after `start()`. Call `tend()` now and then: it restarts components that ended.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        region: str,
        cloud_url: str,
        tools: Tools,
        backends: Backends | None = None,
        logs: Path | None = None,
    ) -> None:
        self.directory = places.private_directory(directory)
        self.name = name
        self.region = region
        self.backends = backends or Backends()
        self.endpoint = ""
        self._logs = logs or directory / "log"
        self._layout = Layout(directory)
        self._tools = tools
        self._components: dict[str, _Component] = {}
        self._lock = threading.RLock()
        self._cloud_url = cloud_url
        self._webhook: Webhook | None = None
        self._egress: Egress | None = None
        self._probe: urllib3.PoolManager | None = None

    @property
    def ca(self) -> bytes:
        """The cluster's certificate authority, PEM."""
        return self._layout.ca.read_bytes()

    @property
    def admin_kubeconfig(self) -> Path:
        """A kubeconfig of group system:masters, by client certificate."""
        return self._layout.kubeconfig()

    def log(self, component: str) -> Path:
        return self._logs / f"{component}.log"

    def start(self) -> None:
        """Start everything and wait until the API server is ready and holds what EKS puts into a new cluster.

        Raises StartError, with the last lines of the log, and leaves nothing running then.
        """
        with self._lock:
            try:
                self._start()
            except BaseException:
                self.stop()
                raise

    def _start(self) -> None:
        begun = time.monotonic()
        layout.write_keys(self._layout)
        layout.write_configurations(self._layout)
        access = Access(self._cloud_url, self.region, self.name, _known_secrets())
        self._webhook = Webhook(self._layout, access.user)
        self._webhook.start()
        self._run(ETCD, components.etcd(self._tools))
        self._start_api_server(self._webhook.url)
        for name, command in (
            (CONTROLLERS, components.controllers(self._tools)),
            (SCHEDULER, components.scheduler(self._tools)),
            (KWOK, components.kwok(self._tools)),
        ):
            self._run(name, command)
        eks.furnish(self.kube())
        self._await_controllers()
        log.info("cluster %s is up at %s after %.1f s", self.name, self.endpoint, time.monotonic() - begun)

    def _start_api_server(self, webhook: str) -> None:
        """Start the API server on a free port, with another one if somebody took that in between."""
        for attempt in range(PORT_ATTEMPTS):
            port = places.free_port()
            self.endpoint = f"https://{places.LOOPBACK}:{port}"
            layout.write_kubeconfigs(self._layout, self.name, self.endpoint, webhook)
            self._probe = self._client()
            if self._egress is None:
                self._egress = Egress(self._layout.egress_socket, Router(self.kube(), self.backends))
                self._egress.start()
            process = self._run(API_SERVER, components.api_server(self._tools, port, "https://kubernetes.default.svc"))
            try:
                return self._await_ready()
            except StartError:
                if attempt == PORT_ATTEMPTS - 1 or "address already in use" not in process.last_words(30):
                    raise
        raise AssertionError

    def _run(self, name: str, command: Command) -> Process:
        process = Process(name, command.argv, command.env, log=self.log(name), cwd=self.directory)
        component = _Component(process, command.grace, begun=time.monotonic(), wanted=True)
        self._components[name] = component
        process.start()
        return process

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        pause = threading.Event()
        while not self.healthy():
            for name, component in self._components.items():
                status = component.process.exit_status()
                if status is not None:
                    words = component.process.last_words()
                    raise StartError(f"{name} of cluster {self.name} ended with status {status}:\n{words}")
            if time.monotonic() > deadline:
                words = self._components[API_SERVER].process.last_words()
                raise StartError(
                    f"the API server of cluster {self.name} is not ready after {START_TIMEOUT:.0f} s:\n{words}"
                )
            pause.wait(0.1)

    def _await_controllers(self) -> None:
        """Wait for the first thing that only the controllers make: without it no pod is admitted."""
        kube, pause, deadline = self.kube(), threading.Event(), time.monotonic() + START_TIMEOUT
        while kube.get("v1", "ServiceAccount", "default", "default") is None:
            if time.monotonic() > deadline:
                words = self._components[CONTROLLERS].process.last_words()
                raise StartError(
                    f"the controllers of cluster {self.name} do nothing after {START_TIMEOUT:.0f} s:\n{words}"
                )
            self.tend()
            pause.wait(0.1)

    def healthy(self) -> bool:
        """Whether the API server says of itself that it is ready."""
        if self._probe is None:
            return False
        try:
            answer = self._probe.request("GET", f"{self.endpoint}/readyz", timeout=2.0, retries=False)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    def kube(self) -> Kube:
        """A new client of the API server, as administrator."""
        return Kube.from_kubeconfig(str(self.admin_kubeconfig))

    def pid(self, component: str) -> int | None:
        """The pid of a running component; None if it does not run."""
        process = self._components[component].process
        return process.identity.pid if process.running() and process.identity else None

    def halt(self, component: str) -> None:
        """Stop one component and leave it stopped until `restart`."""
        with self._lock:
            self._components[component].wanted = False
            self._components[component].process.stop(self._components[component].grace)

    def restart(self, component: str) -> None:
        """Stop one component if it runs, start it again; waits for the API server if it was that or its store."""
        with self._lock:
            self.halt(component)
            found = self._components[component]
            found.wanted, found.failures, found.begun = True, 0, time.monotonic()
            found.process.start()
            if component in {ETCD, API_SERVER}:
                self._await_ready()

    def tend(self) -> None:
        """Start again what ended on its own, after a pause that doubles with each failure up to 30 s."""
        with self._lock:
            now = time.monotonic()
            for name, component in self._components.items():
                if component.wanted and not component.process.running():
                    self._revive(name, component, now)

    def _revive(self, name: str, component: _Component, now: float) -> None:
        if component.not_before == 0.0:
            if now - component.begun > STEADY:
                component.failures = 0
            pause = min(LONGEST_PAUSE, 0.5 * 2**component.failures)
            component.failures += 1
            component.not_before = now + pause
            status = component.process.exit_status()
            log.warning("%s of cluster %s ended with status %s; starting it in %.1f s", name, self.name, status, pause)
        elif now >= component.not_before:
            component.begun, component.not_before = now, 0.0
            component.process.start()
            log.info("%s of cluster %s was started again", name, self.name)

    def stop(self) -> None:
        """Stop everything, clients first, the store last. The directory stays."""
        with self._lock:
            for name in (KWOK, SCHEDULER, CONTROLLERS, API_SERVER, ETCD):
                if name in self._components:
                    self.halt(name)
            for server in (self._egress, self._webhook):
                if server is not None:
                    server.stop()
            self._egress = self._webhook = None

    def _client(self) -> urllib3.PoolManager:
        return urllib3.PoolManager(
            ca_certs=str(self._layout.ca),
            cert_file=str(self._layout.certificate("admin")),
            key_file=str(self._layout.key("admin")),
        )


def _known_secrets() -> dict[str, str]:
    """The rehearsal's own key, if it runs with one: with it tokens for other clusters are recognised."""
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    return {key: secret} if key and secret else {}
