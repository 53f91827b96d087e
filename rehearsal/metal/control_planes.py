"""Which machines of a hall serve an API, and which are members of etcd: both end with their machine, not with a record.

Sources: kubernetes cmd/kubeadm/app/phases/etcd/local.go (CheckLocalEtcdClusterStatus asks every member that is listed,
not every one that runs) and app/util/etcd/etcd.go (getClusterStatus); etcd client/v3/maintenance.go (words of a member
that does not answer), server/etcdserver/server.go (a member is removed only where those that run are still a majority).
"""

import re
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rehearsal.metal.machine import Machine

if TYPE_CHECKING:
    from rehearsal.metal.host import Host

Answer = dict[str, str]
Question = Mapping[str, str]


@dataclass(frozen=True)
class Member:
    """A member of etcd: the machine that was made one, by its serial number."""

    name: str
    address: str
    serial: str

    @property
    def identity(self) -> str:
        """The member's ID, sixteen hexadecimal digits."""
        return f"{zlib.crc32(f'{self.name} {self.address} {self.serial}'.encode()):016x}"


class ControlPlanes:
    """The control planes of the hall whose hosts `hosts` gives."""

    def __init__(self, hosts: Callable[[], Iterable["Host"]]) -> None:
        self._hosts, self._lock = hosts, threading.Lock()
        self._members: list[Member] = []

    def asked(self, machine: Machine, question: Question) -> Answer:
        """The answer to one question of a host's curl, kubeadm or etcdctl."""
        verbs: Mapping[str, Callable[[Member, Question], Answer]] = {
            "serves": lambda _, asked: {"serves": "yes" if self._serves(asked["address"]) else ""},
            "begin": self._begin,
            "add": self._add,
            "leave": self._leave,
            "check": lambda _own, _asked: self._check(),
            "list": lambda _, asked: self._list(asked["through"]),
            "remove": lambda _, asked: self._remove(asked["through"], asked["id"]),
        }
        with self._lock:
            return verbs[question["verb"]](Member(machine.name, machine.address, machine.serial), question)

    def _begin(self, own: Member, _: Question) -> Answer:
        self._members = [own]
        return {}

    def _add(self, own: Member, _: Question) -> Answer:
        self._members += [] if own in self._members else [own]
        return {}

    def _leave(self, own: Member, _: Question) -> Answer:
        self._members = [each for each in self._members if each != own]
        return {}

    def _serves(self, address: str) -> bool:
        """Whether an API server answers there: of the machine with the address, or of one whose kube-vip holds it."""
        serving = [host for host in self._hosts() if host.on and _runs(host, "kube-apiserver")]
        return any(host.machine.address == address or _holds(host, address) for host in serving)

    def _runs(self, member: Member) -> bool:
        return any(
            host.on and (host.machine.name, host.machine.serial) == (member.name, member.serial) and _runs(host, "etcd")
            for host in self._hosts()
        )

    def _check(self) -> Answer:
        for each in self._members:
            if not self._runs(each):
                return {
                    "error": f"etcd cluster is not healthy: failed to dial endpoint https://{each.address}:2379 with "
                    "maintenance client: context deadline exceeded"
                }
        return {}

    def _through(self, name: str) -> str | None:
        """Why nothing is asked through a member's pod."""
        found = [each for each in self._members if each.name == name and self._runs(each)]
        return None if found else f'Error from server (NotFound): pods "etcd-{name}" not found'

    def _list(self, through: str) -> Answer:
        if (why := self._through(through)) is not None:
            return {"error": why}
        rows = [
            f"{each.identity}, started, {each.name}, https://{each.address}:2380, https://{each.address}:2379, false"
            for each in self._members
        ]
        return {"said": "\n".join(rows)}

    def _remove(self, through: str, identity: str) -> Answer:
        if (why := self._through(through)) is not None:
            return {"error": why}
        kept = [each for each in self._members if each.identity != identity]
        if len(kept) == len(self._members):
            return {"error": "Error: etcdserver: member not found"}
        if sum(map(self._runs, kept)) <= len(kept) // 2:
            return {"error": "Error: etcdserver: re-configuration failed due to not enough started members"}
        self._members = kept
        return {"said": f"Member {identity} removed from cluster"}


def _etc(host: "Host") -> Path:
    return host.disk / "etc/kubernetes"


def _runs(host: "Host", pod: str) -> bool:
    """A static pod runs where its manifest is and a kubelet has joined."""
    return (_etc(host) / "manifests" / f"{pod}.yaml").exists() and (_etc(host) / "kubelet.conf").exists()


def _holds(host: "Host", address: str) -> bool:
    """Whether the host's kube-vip may take an address: a pod whose hostPath is not there does not start."""
    path = _etc(host) / "manifests/kube-vip.yaml"
    text = path.read_text() if path.exists() else ""
    asks = re.search(r"path: /etc/kubernetes/(\S+)$", text, re.MULTILINE)
    told = re.search(rf"value: ['\"]?{re.escape(address)}['\"]?$", text, re.MULTILINE)
    return told is not None and (asks is None or (_etc(host) / asks[1]).exists())
