"""One EKS cluster's control plane: five upstream processes, the token webhook and the way into its network."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import urllib3

from rehearsal import places
from rehearsal.cluster import awsauth, components, eks, layout
from rehearsal.cluster.access import Access
from rehearsal.cluster.backends import Backends
from rehearsal.cluster.components import API_SERVER, CONTROLLERS, ETCD, KWOK, SCHEDULER, Command
from rehearsal.cluster.egress import Egress
from rehearsal.cluster.kept import KeptProcesses
from rehearsal.cluster.layout import Layout
from rehearsal.cluster.router import Router
from rehearsal.cluster.webhook import Webhook
from rehearsal.keys import Account
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.processes import Process, StartError, last_lines
from rehearsal.toolchain import Tools

log = logging.getLogger(__name__)

START_TIMEOUT = 180.0
PORT_ATTEMPTS = 5
ISSUER = "https://kubernetes.default.svc"
STOPPING_ORDER = (KWOK, SCHEDULER, CONTROLLERS, API_SERVER, ETCD)


class ControlPlane:
    """A control plane in `directory`, of the EKS cluster `name` in `region` of `account`.

    `furnish` puts into it what a new cluster has; without one that is what EKS does. `flags` are the
    API server's beside its own.
    Starting again in the same directory finds the same keys and data. `endpoint`, `ca` and `admin_kubeconfig` are valid
    after `start()`. Call `tend()` now and then: it restarts components that ended.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        region: str,
        account: Account,
        tools: Tools,
        backends: Backends | None = None,
        logs: Path | None = None,
        furnish: Callable[[Kube], None] = eks.furnish,
        flags: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.directory = places.private_directory(directory)
        self.name = name
        self.region = region
        self.backends = backends or Backends()
        self.endpoint = ""
        self._furnish, self._flags = furnish, flags
        self._logs = logs or directory / "log"
        self._layout = Layout(directory)
        self._tools = tools
        self._processes = KeptProcesses(f"cluster {name}", self.record)
        self._account = account
        self._webhook: Webhook | None = None
        self._egress: Egress | None = None
        self._probe: urllib3.PoolManager | None = None
        self._kube: Kube | None = None
        self._served: int | None = None

    @property
    def ca(self) -> bytes:
        """The cluster's certificate authority, PEM."""
        return self._layout.ca.read_bytes()

    @property
    def admin_kubeconfig(self) -> Path:
        """A kubeconfig of group system:masters, by client certificate."""
        return self._layout.kubeconfig()

    @property
    def proxy(self) -> Path:
        """The file that tells, while the cluster's network is up, the address of its HTTP proxy."""
        return self._layout.proxy

    @property
    def port(self) -> int:
        """The API server's port on loopback."""
        return int(self.endpoint.rpartition(":")[2])

    def log(self, component: str) -> Path:
        return self._logs / f"{component}.log"

    @property
    def record(self) -> Path:
        """A JSON file with the identity of every component that was started, by name."""
        return self.directory / "processes.json"

    def start(self) -> None:
        """Start everything and wait until the API server is ready and holds what a new cluster has.

        Raises StartError, with the last lines of the log, and leaves nothing running then.
        """
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        begun = time.monotonic()
        layout.write_keys(self._layout)
        layout.write_configurations(self._layout)
        access = Access(self._account, self.region, self.name, self._aws_auth)
        self._webhook = Webhook(self._layout, access.user)
        self._webhook.start()
        self._run(ETCD, components.etcd(self._tools))
        self._start_api_server(self._webhook.url)
        kube = self._kube = self.kube()
        self._egress = Egress(self._layout.egress_socket, Router(kube, self.backends))
        self._egress.start()
        self._run(CONTROLLERS, components.controllers(self._tools))
        self._run(SCHEDULER, components.scheduler(self._tools))
        self._run(KWOK, components.kwok(self._tools))
        self._furnish(kube)
        self._await(lambda: controllers_work(kube), CONTROLLERS, self._processes.tend)
        log.info("cluster %s is up at %s after %.1f s", self.name, self.endpoint, time.monotonic() - begun)

    def _start_api_server(self, webhook: str) -> None:
        """Start the API server on a free port, with another one if somebody took that in between."""
        for attempt in range(1, PORT_ATTEMPTS + 1):
            port = places.free_port()
            self.endpoint = f"https://{places.LOOPBACK}:{port}"
            layout.write_kubeconfigs(self._layout, self.name, self.endpoint, webhook)
            self._probe = self._client()
            self._run(API_SERVER, components.api_server(self._tools, port, ISSUER, self._flags))
            try:
                self._await(self.healthy, API_SERVER, self._processes.check)
            except StartError as error:
                if attempt == PORT_ATTEMPTS or f":{port}: bind: address already in use" not in str(error):
                    raise
            else:
                return

    def _run(self, name: str, command: Command) -> None:
        process = Process(name, command.argv, command.env, log=self.log(name), cwd=self.directory)
        self._processes.start(process, command.grace)

    def _await(self, condition: Callable[[], bool], component: str, meanwhile: Callable[[], None]) -> None:
        """Wait until a component does its work, doing `meanwhile` again and again. Raises StartError."""
        deadline = time.monotonic() + START_TIMEOUT
        pause = threading.Event()
        while not condition():
            meanwhile()
            if time.monotonic() > deadline:
                words = last_lines(self.log(component))
                raise StartError(
                    f"{component} of cluster {self.name} does not work after {START_TIMEOUT:.0f} s:\n{words}"
                )
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

    def barred(self) -> str | None:
        """Why no request is for the API server now; None from when its process has said that it is ready.

        A load balancer before it asks /readyz (Kubernetes documentation, "Kubernetes API health endpoints"): a process
        that has just begun answers before it knows roles and bindings, and refuses people what they may.
        """
        pid = self.pid(API_SERVER)
        if pid != self._served and pid is not None and self.healthy():
            self._served = pid
        return None if pid is not None and pid == self._served else "the API server is not ready"

    def kube(self) -> Kube:
        """A new client of the API server, as administrator."""
        return Kube.from_kubeconfig(str(self.admin_kubeconfig))

    def _aws_auth(self) -> dict[str, Any] | None:
        """The ConfigMap by which some clusters know who may enter."""
        with contextlib.suppress(ApiError, Unreachable), contextlib.closing(self.kube()) as kube:
            return kube.get("v1", "ConfigMap", awsauth.NAME, awsauth.NAMESPACE)
        return None

    def pid(self, component: str) -> int | None:
        """The pid of a running component; None if it does not run."""
        return self._processes.pid(component)

    def halt(self, component: str) -> None:
        """Stop one component and leave it stopped until `restart`."""
        self._processes.halt(component)

    def restart(self, component: str) -> None:
        """Stop one component if it runs and start it again; returns when the API server is ready. Raises StartError."""
        self._processes.restart(component)
        self._await(self.healthy, API_SERVER, self._processes.tend)

    def tend(self) -> None:
        """Start again what ended on its own, after a pause that doubles with each failure. Raises StartError."""
        self._processes.tend()

    def stop(self) -> None:
        """Stop everything, clients first, the store last. The directory stays."""
        self._processes.stop(STOPPING_ORDER)
        for server in (self._egress, self._webhook):
            if server is not None:
                server.stop()
        self._egress = self._webhook = None
        if self._probe is not None:
            self._probe.clear()
        if self._kube is not None:
            self._kube.close()
        self.backends.close()

    def _client(self) -> urllib3.PoolManager:
        return urllib3.PoolManager(
            ca_certs=str(self._layout.ca),
            cert_file=str(self._layout.certificate("admin")),
            key_file=str(self._layout.key("admin")),
        )


def controllers_work(kube: Kube) -> bool:
    """Whether the first thing is there that only the controllers make, and without which no pod is admitted."""
    return kube.get("v1", "ServiceAccount", "default", "default") is not None
