"""One pod on its node: prerequisites, then init containers in order, then the containers."""

import math
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rehearsal.kubelet import attaching, podstatus, pulling, sandbox, suffering, volumes
from rehearsal.kubelet.addresses import Addresses
from rehearsal.kubelet.allotted import Holder
from rehearsal.kubelet.environment import ConfigError, resolve, words
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.images import ImageError
from rehearsal.kubelet.lifecycle import Container, slept
from rehearsal.kubelet.nodeobject import boot_id
from rehearsal.kubelet.nodeobject import now as stamp
from rehearsal.kubelet.orders import Fault
from rehearsal.kubelet.program import VOLUMES, Exit, HasFiles, Launch, LaunchError, Program
from rehearsal.kubelet.world import World

Object = Mapping[str, Any]
RETRY_SECONDS = 2.0
LAG_SECONDS = 0.5


class PodRun:
    """The run of one pod (one uid). Used by one thread at a time, except `refresh_files`, `listens` and `close`."""

    def __init__(self, world: World, pod: Object, host: Host, addresses: Addresses, wake: Callable[[], None]) -> None:
        self._world, self.host, self._addresses, self._wake = world, host, addresses, wake
        self.pod = pod
        self.uid = pod["metadata"]["uid"]
        self.namespace, self.name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        spec = pod["spec"]
        self._inits = [Container(each, _role(each)) for each in spec.get("initContainers") or []]
        self._mains = [Container(each, "main") for each in spec["containers"]]
        for each in [*self._inits, *self._mains]:
            each.beside = self._programs
        self._ip: str | None = None
        self._started = (pod.get("status") or {}).get("startTime") or stamp()
        self._mounted = False
        self._asked = 0.0
        self._files = threading.Lock()
        self._problem: volumes.Problem | None = None
        self.blocked = False
        self._boot = ""
        self._struck: list[Fault] = []
        self._leaving: float | None = None
        self.told = -math.inf
        """When the API server was told the last status, monotonic."""
        self._resume(pod.get("status") or {})

    def _resume(self, status: Object) -> None:
        """A pod that ran before this process began keeps its address and counts one restart more."""
        if status.get("podIP") and not self.pod["spec"].get("hostNetwork"):
            self._ip = status["podIP"]
            self._addresses.hold(self.uid, status["podIP"], self.host.node)
        before = {
            each["name"]: each
            for kind in ("initContainerStatuses", "containerStatuses")
            for each in status.get(kind) or []
        }
        for container in [*self._inits, *self._mains]:
            seen = before.get(container.name)
            if seen is None:
                continue
            ended = (seen.get("state") or {}).get("terminated")
            container.restarts = int(seen.get("restartCount", 0))
            if ended and container.role == "init" and ended.get("exitCode") == 0:
                container.phase, container.exit, container.reason = "terminated", Exit(0), "Completed"
                container.started_at, container.finished_at = ended.get("startedAt", ""), ended.get("finishedAt", "")

    # -- progress

    def advance(self, pod: Object, node: Object, now: float) -> float | None:
        """Does whatever can be done now; the monotonic time of the next look, None if only changes matter."""
        self.pod = pod
        if not self._mounted:
            problem = self._prerequisites(node)
            self.blocked = problem is not None
            if problem is not None:
                return self._hold(problem, now)
            self._mounted = True
        self._reboot(node, now)
        self._suffer(now)
        wakes = self._pass(node, now)
        self._report()
        return min((wake for wake in wakes if wake is not None), default=None)

    def _reboot(self, node: Object, now: float) -> None:
        """Containers that ran before the machine started anew ended with it."""
        boot, before = boot_id(node), self._boot
        self._boot = boot or before
        if before and boot and boot != before:
            for container in [*self._inits, *self._mains]:
                container.lose_machine(now)

    def strike(self, fault: Fault) -> None:
        """A failure of the machine reaches the pod: its containers are asked at the next look."""
        self._struck.append(fault)
        self._wake()

    def _suffer(self, now: float) -> None:
        struck, self._struck = self._struck, []
        for fault in struck:
            for container in [*self._inits, *self._mains]:
                holder = Holder(self.namespace, self.name, container.name)
                suffering.suffer(container, holder, fault, self._world.allotted.gpus(self.host.node, holder), now)

    def running(self) -> list[tuple[Holder, Object]]:
        """The containers whose processes run, and their specs."""
        every = [each for each in [*self._inits, *self._mains] if each.phase == "running"]
        return [(Holder(self.namespace, self.name, each.name), each.spec) for each in every]

    def _hold(self, problem: volumes.Problem, now: float) -> float:
        """Waits; tells why only if it is so a moment later too (our copies of objects may be a little old)."""
        if problem != self._problem:
            self._problem = problem
            return now + LAG_SECONDS
        self._tell("Warning", problem.reason, problem.message)
        return now + RETRY_SECONDS

    def _pass(self, node: Object, now: float) -> list[float | None]:
        """Steps every container that may run, again for each init container that gets done by it."""
        while True:
            done = sum(podstatus.initialised(each) for each in self._inits)
            wakes = [self._step(container, node, now) for container in self._due()]
            if sum(podstatus.initialised(each) for each in self._inits) <= done:
                return wakes

    def _due(self) -> list[Container]:
        """The containers that may run now: init containers up to the first that is not done, then all."""
        for index, container in enumerate(self._inits):
            if not podstatus.initialised(container):
                return [each for each in self._inits[:index] if each.role == "sidecar"] + [container]
        return [each for each in self._inits if each.role == "sidecar"] + self._mains

    def _step(self, container: Container, node: Object, now: float) -> float | None:
        wake = container.look(now)
        if container.phase == "terminated":
            if not podstatus.restart_allowed(self.pod, container):
                return None
            if container.restart_at is not None and container.restart_at > now:
                container.crash_loop()
                return container.restart_at
            container.restart()
        elif container.phase == "running":
            return wake
        elif container.restart_at is not None and container.restart_at > now:
            return container.restart_at
        return self._start(container, node, now)

    def _start(self, container: Container, node: Object, now: float) -> float | None:
        try:
            launch = self._launch(container, node, now)
            program = self._world.images.start(launch)
        except ConfigError as error:
            container.wait("CreateContainerConfigError", str(error))
            self.blocked = True
            return now + RETRY_SECONDS
        except ImageError as error:
            container.wait("InvalidImageName", str(error))
            return now + RETRY_SECONDS
        except pulling.PullError:
            return pulling.wait(container, now)
        except LaunchError as error:
            container.begin(Program(), now)
            container.end(Exit(128, str(error), "StartError"), now)
            return now
        self.blocked = False
        container.begin(program, now)
        wake = container.look(now)
        return now if container.phase == "terminated" else wake

    def _launch(self, container: Container, node: Object, now: float) -> Launch:
        find = self._world.find
        addresses = {
            "status.podIP": self._ip or "",
            "status.podIPs": self._ip or "",
            "status.hostIP": self.host.address,
            "spec.nodeName": self.host.node,
        }
        env = resolve(self.pod, container.spec, find, node, addresses)
        mounts = volumes.mounts(self.pod, container.spec, self.host.node, find)
        if problem := volumes.sub_path_problem(self.pod, container.name, mounts, self._world.contents):
            raise ConfigError(problem)
        return Launch(
            world=self._world,
            pod=self.pod,
            spec=container.spec,
            node=self.host.node,
            command=words(container.spec.get("command"), env),
            args=words(container.spec.get("args"), env),
            env=env,
            mounts=mounts,
            directory=self.directory / container.name / str(container.number),
            wake=self._wake,
            now=now,
            ip=self.host.address if self.pod["spec"].get("hostNetwork") else self._ip or "",
        )

    def _prerequisites(self, node: Object) -> volumes.Problem | None:
        """Networking, volumes and an address: what a kubelet needs before it makes the first container."""
        problem = sandbox.lacking(self._world, self.pod, self.host, node)
        if problem is not None or self.pod["spec"].get("hostNetwork"):
            return problem
        if not self._ip:
            taken = sandbox.address(self._world, self.uid, self.host, self._addresses)
            if isinstance(taken, volumes.Problem):
                return taken
            self._ip = taken
        return attaching.attach(self._world, self.pod, self.host)

    # -- what is seen

    def status(self, pod: Object) -> dict[str, Any]:
        ip = self.host.address if pod["spec"].get("hostNetwork") else self._ip
        idle = "PodInitializing" if self._inits else "ContainerCreating"
        for container in [*self._inits, *self._mains]:
            if container.phase == "waiting" and container.reason in ("ContainerCreating", "PodInitializing"):
                container.reason = idle
        shown = ip if self._mounted else None
        return podstatus.status(pod, self._inits, self._mains, shown, self.host.address, self._started)

    def listens(self, port: int, now: float) -> bool:
        """Whether a running container accepts connections on a port."""
        return any(program.listens(port, now) for program in self._programs())

    def _programs(self) -> list[Program]:
        every = [each.program for each in [*self._inits, *self._mains] if each.phase == "running"]
        return [program for program in every if program is not None]

    @property
    def directory(self) -> Path:
        """Where the processes of this pod keep their files and logs, as /var/log/pods names them."""
        return self._world.directory / "pods" / f"{self.namespace}_{self.name}_{self.uid[:8]}"

    def _tell(self, kind: str, reason: str, message: str, path: str = "") -> None:
        self._world.events.emit(self.pod, kind, reason, message, "kubelet", self.host.node, path)

    def _report(self) -> None:
        for container in [*self._inits, *self._mains]:
            group = "containers" if container.role == "main" else "initContainers"
            for note in container.notes:
                self._tell(note.kind, note.reason, note.message, f"spec.{group}{{{container.name}}}")
            container.notes.clear()

    # -- changes from outside

    def refresh_files(self) -> None:
        """ConfigMaps or Secrets changed: the files of real processes follow, as a kubelet's volumes do."""
        with self._files:
            for container in [*self._inits, *self._mains]:
                if container.phase == "running" and isinstance(container.program, HasFiles):
                    container.program.refresh_files()

    def leave(self, pod: Object, now: float) -> float | None:
        """The pod is to go: its processes are asked to end. The monotonic time until which those have that have not,
        None where all have, or have had as long as the pod's deletion gives them.
        """
        if self._leaving is None:
            self._asked = now
            self._leaving = now + float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
        waits = []
        for container in [*self._mains, *self._inits]:
            if container.phase == "running" and (program := container.program) is not None:
                told = self._asked + slept(container.spec)
                if now < told:
                    waits.append(min(told, self._leaving))
                elif not program.leaves():
                    waits.append(self._leaving)
        return min(waits) if waits and now < self._leaving else None

    def stop(self) -> None:
        """The pod is gone: everything it did ends."""
        for container in [*self._mains, *self._inits]:
            container.stop()
        self._addresses.give_back(self.uid)
        self._world.attached.give_back(self.uid)
        self._world.contents.forget(f"pod:{self.uid}:")
        shutil.rmtree(self.directory / VOLUMES, ignore_errors=True)

    def close(self) -> None:
        """The rehearsal ends: processes stop, the cluster keeps what it shows."""
        for container in [*self._mains, *self._inits]:
            container.close()


def _role(container: Object) -> Any:
    return "sidecar" if container.get("restartPolicy") == "Always" else "init"
