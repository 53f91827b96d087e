"""The hall of a site: machines by the order of whoever opens the site, and the cluster that they make of themselves.

The order is a file (`place`), which names the machines and what lies on the file systems that they mount; the answer
to it is one beside it, with a sentence where something stood in the way.
"""

import contextlib
import hashlib
import ipaddress
import itertools
import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.eks.controller import Controller
from rehearsal.eks.inside import Inside
from rehearsal.keys import Account
from rehearsal.kubelet.contents import BUCKETS
from rehearsal.kubelet.images import Images
from rehearsal.kubelet.world import World
from rehearsal.metal.cluster import Cluster, Plane
from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Question
from rehearsal.metal.keys import person
from rehearsal.metal.machine import Machine
from rehearsal.metal.record import Record
from rehearsal.places import HALLS, SiteDirectory
from rehearsal.processes import StartError
from rehearsal.racks import api_server, furniture
from rehearsal.racks.joined import racked
from rehearsal.racks.nodes import RackedNodes
from rehearsal.toolchain import Tools

log = logging.getLogger(__name__)

REGION = "us-east-1"
"""Of the account beside the hall, which holds nothing of it."""
POD_PREFIX = 24
"""Addresses of a node's pods: Cilium's clusterPoolIPv4MaskSize, where nobody says another one (its documentation,
"Cluster Scope")."""
ANSWER_SECONDS = 300.0
LOOK_SECONDS = 0.1


def place(site: SiteDirectory, machines: Sequence[Machine], files: Mapping[str, Mapping[str, int]]) -> None:
    """Have machines racked, and return when they have booted. `files` are sizes by name, of each path that they mount,
    of each volume that pods mount (`csi:...`, as `rehearsal.kubelet.volumes.volume_key` has it), or of each bucket of
    the site's store (`s3:ENDPOINT/BUCKET`).

    Raises StartError with what stood in the way.
    """
    order: dict[str, Any] = {
        "machines": [each.facts() for each in machines],
        "files": {key: dict(each) for key, each in files.items()},
    }
    if places.read_json(_switched_off(site)):
        # Another order than the last, whatever that was: who is off is to be switched on.
        order["at"] = time.time_ns()
    places.write_json(_order(site), order)
    wanted, deadline, pause = _digest(site), time.monotonic() + ANSWER_SECONDS, threading.Event()
    while True:
        answer = places.read_json(_answer(site)) or {}
        if answer.get("to") == wanted:
            if answer.get("error"):
                raise StartError(str(answer["error"]))
            return
        if time.monotonic() > deadline:
            raise StartError(f"the machines of the hall are not there after {ANSWER_SECONDS:.0f} s: see {site.logs}")
        pause.wait(LOOK_SECONDS)


def _order(site: SiteDirectory) -> Path:
    return site.hall / "order.json"


def _answer(site: SiteDirectory) -> Path:
    return site.hall / "answer.json"


def _switched_off(site: SiteDirectory) -> Path:
    return site.hall / "off.json"


def _digest(site: SiteDirectory) -> str | None:
    """What is ordered now; None if nothing is."""
    with contextlib.suppress(FileNotFoundError):
        return hashlib.sha256(_order(site).read_bytes()).hexdigest()
    return None


class HallKeeper:
    """Call `reconcile()` now and then, and `stop()` in the end."""

    def __init__(self, site: SiteDirectory, account: Account, tools: Tools, images: Images) -> None:
        self._site, self._account, self._tools, self._images = site, account, tools, images
        self._hall: Hall | None = None
        self._plane: ControlPlane | None = None
        self._inside: Inside | None = None
        self._nodes: RackedNodes | None = None
        self._blocks: dict[str, str] = {}
        self._pods = ""
        self._files: Mapping[str, Mapping[str, int]] = {}
        self._done: str | None = None
        self._off: list[str] = []

    def reconcile(self) -> None:
        """Rack what is ordered, and keep the control plane running."""
        digest = _digest(self._site)
        if digest is not None and digest != self._done:
            self._done = digest
            answer: dict[str, Any] = {"to": digest}
            try:
                self._fill(places.read_json(_order(self._site)) or {})
            except (StartError, OSError) as error:
                log.warning("the hall: %s", error)
                answer["error"] = str(error)
            places.write_json(_answer(self._site), answer)
        self._look()
        if self._plane is not None:
            try:
                self._plane.tend()
            except (StartError, OSError) as error:
                log.warning("%s", error)

    def _look(self) -> None:
        """Which machines are off: for whoever asks, and for their nodes."""
        if self._hall is None:
            return
        off = sorted(name for name, host in self._hall.hosts.items() if not host.on)
        if off != self._off:
            self._off = off
            places.write_json(_switched_off(self._site), off)
        if self._nodes is not None:
            self._nodes.off(off)

    def stop(self) -> None:
        """Switch everything off."""
        if self._hall is not None:
            self._hall.stop()
        if self._inside is not None:
            self._inside.stop()
        if self._plane is not None:
            self._plane.stop()
        self._hall = self._inside = self._plane = None

    def _fill(self, order: Mapping[str, Any]) -> None:
        machines = [Machine.of(each) for each in order.get("machines") or ()]
        self._files = order.get("files") or {}
        self._lay()
        if machines and self._hall is None:
            hall = Hall(self._site.hall, Cluster(self._begin, self._joined).asked)
            hall.start()
            self._hall = hall
        if self._hall is None:
            return
        begun = time.monotonic()
        fresh = []
        for each in machines:
            found = self._hall.hosts.get(each.name)
            if found is not None and same(found.machine, each):
                found.know(each)
                if not found.on:
                    found.power_off()
                    found.power_on()
                continue
            # Another machine in its place; one that is named no more stays where it stands.
            if found is not None:
                found.power_off()
            fresh.append(each)
        self._hall.rack(fresh)
        if fresh:
            log.info("%d machines booted after %.1f s", len(fresh), time.monotonic() - begun)

    def _lay(self) -> None:
        """What lies on file systems that the machines mount, and in the site's store, was there before they were."""
        if self._inside is not None:
            for path, files in self._files.items():
                volume = path if path.startswith(("csi:", BUCKETS)) else f"local:{path}"
                self._inside.world.contents.add(volume, dict(files))

    # -- what the machines' kubeadm asks for

    def _begin(self, cluster: Mapping[str, Any], machine: Machine) -> Plane:
        """The control plane, when the first machine makes it."""
        if self._hall is None:
            raise StartError("no machine is racked")
        name = str(cluster.get("clusterName") or "kubernetes")
        self._pods = str((cluster.get("networking") or {}).get("podSubnet") or "10.0.0.0/8")
        directory, logs = self._site.cluster(HALLS, name), self._site.logs / HALLS / name
        plane = ControlPlane(
            directory,
            name,
            REGION,
            self._account,
            self._tools,
            logs=logs,
            furnish=lambda kube: furniture.furnish(kube, cluster),
            flags=api_server.arguments(cluster, self._hall.hosts[machine.name].disk, logs / "audit"),
        )
        plane.start()
        try:
            self._inside = Inside(plane, self._account, REGION, name, self._tools, self._images, self._keep)
            self._inside.start()
        except BaseException:
            plane.stop()
            raise
        self._lay()
        self._plane = plane
        return Plane(plane.admin_kubeconfig, self._tools["kubectl"])

    def _keep(self, world: World) -> Sequence[Controller]:
        self._nodes = RackedNodes(world)
        return (self._nodes,)

    def _joined(self, machine: Machine, name: str, question: Question) -> None:
        if self._nodes is not None:
            self._nodes.join(racked(machine, name, question, self._block(name)))

    def _block(self, name: str) -> str:
        """The range of a node's pods, the same one whenever it joins."""
        if name not in self._blocks:
            whole = ipaddress.ip_network(self._pods)
            parts = whole.subnets(new_prefix=max(POD_PREFIX, whole.prefixlen))
            self._blocks[name] = str(next(itertools.islice(parts, len(self._blocks), None)))
        return self._blocks[name]


def same(one: Machine, other: Machine) -> bool:
    """Whether two are one machine, of which more is known now: who has a serial number stays who he is."""
    return (one.serial, one.address, one.user) == (other.serial, other.address, other.user)


def shown(site: SiteDirectory) -> list[str]:
    """What a person needs to know of the hosts of a site that runs; nothing where it has none."""
    record = Record.read(site.hall / "hall.json")
    machines = (places.read_json(_order(site)) or {}).get("machines") or ()
    if record is None or not machines:
        return []
    first, key = machines[0], person(site.hall).private
    ask = " ".join((*record.enter(), "ssh", "-i", str(key), "-o", "StrictHostKeyChecking=no"))
    off = places.read_json(_switched_off(site)) or ()
    lost = [f"off: {', '.join(off)}; another up switches on what the stack file names"] if off else []
    return [f"racked hosts: {len(machines)}; a shell on one: {ask} {first['user']}@{first['address']}", *lost]


def ordered(site: SiteDirectory) -> bool:
    """Whether machines were ordered for the site."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return bool(json.loads(_order(site).read_text()).get("machines"))
    return False
