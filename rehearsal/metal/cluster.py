"""What a cluster around the hall answers to its hosts' kubeadm: a real API server, begun by the first `kubeadm init`.

Sources: Kubernetes documentation, "Authenticating with Bootstrap Tokens" (the Secret, its expiration and usages);
kubeadm cmd/kubeadm/app/discovery (a token that the cluster does not know: the API server answers 401); a machine that
`kubeadm reset` took out stays a Node until somebody deletes it.
"""

import base64
import json
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.metal import node
from rehearsal.metal.host import Answer, Question
from rehearsal.metal.machine import Machine

MANAGER = "kubelet"
KUBECTL_SECONDS = 1800.0
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class Plane:
    """A control plane that runs: the administrator's kubeconfig as a file, and kubectl."""

    kubeconfig: Path
    kubectl: Path


Begin = Callable[[Mapping[str, Any], Machine], Plane]
"""Makes the control plane that kubeadm's ClusterConfiguration describes, of the first machine's files."""
Joined = Callable[[Machine, str, Question], None]
"""Told of a machine, its node's name and what its kubelet found, before the node is there."""


def _unnoticed(machine: Machine, name: str, question: Question) -> None:
    """Do nothing: nobody follows the node."""


class Cluster:
    """One cluster, made by `begin` when the first control plane node is."""

    def __init__(self, begin: Begin, joined: Joined = _unnoticed) -> None:
        self._begin, self._joined = begin, joined
        self._plane: Plane | None = None
        self._first: Machine | None = None
        self._lock = threading.Lock()

    def asked(self, machine: Machine, question: Question) -> Answer:
        """The answer to one question of a host."""
        kinds: Mapping[str, Callable[[Machine, Question], Answer]] = {
            "init": self._init,
            "discover": self._discover,
            "join": self._join,
            "kubectl": lambda _, asked: self._kubectl(asked),
            "upgrade": lambda _, asked: self._upgrade(asked["version"]),
            "leave": lambda _machine, _asked: {},
        }
        try:
            return kinds[question["kind"]](machine, question)
        except (ApiError, Unreachable) as error:
            return {"error": str(error)}

    def _init(self, machine: Machine, question: Question) -> Answer:
        """Begin the cluster, or refuse a second one: kubeadm would make it, with nodes that the first does not have."""
        given = node.documents(question["config"])
        init, cluster = given.get("InitConfiguration", {}), given.get("ClusterConfiguration", {})
        with self._lock:
            if self._first is not None and self._first.serial != machine.serial:
                return {"error": _another(self._first, str(cluster.get("controlPlaneEndpoint", "")))}
            self._plane = self._plane or self._begin(cluster, machine)
            self._first = machine
        kube = self._kube()
        for token in init.get("bootstrapTokens") or []:
            kube.apply(_token(token), "kubeadm", force=True)
        return self._register(machine, question, init, cluster, control_plane=True)

    def _discover(self, _: Machine, question: Question) -> Answer:
        """What a machine that joins the control plane has before its kubelet runs."""
        given = node.documents(question["config"]).get("JoinConfiguration", {})
        problem = self._stranger(_token_of(given))
        return {"error": problem} if problem is not None else {"admin": self._told().kubeconfig.read_text()}

    def _join(self, machine: Machine, question: Question) -> Answer:
        given = node.documents(question["config"]).get("JoinConfiguration", {})
        if (problem := self._stranger(_token_of(given))) is not None:
            return {"error": problem}
        return self._register(machine, question, given, {}, control_plane="controlPlane" in given)

    def _stranger(self, token: str) -> str | None:
        """Why a token lets nobody in: the API server does not tell one that ended from one that never was."""
        identity, _, secret = token.partition(".")
        found = self._kube().get("v1", "Secret", f"bootstrap-token-{identity}", "kube-system")
        data = {key: base64.b64decode(value).decode() for key, value in ((found or {}).get("data") or {}).items()}
        ends = data.get("expiration")
        over = ends is not None and datetime.fromisoformat(ends) <= datetime.now(UTC)
        if over or data.get("token-secret") != secret or data.get("usage-bootstrap-authentication") != "true":
            return "couldn't validate the identity of the API Server: the token is unknown or has expired: Unauthorized"
        return None

    def _register(
        self,
        machine: Machine,
        question: Question,
        given: Mapping[str, Any],
        cluster: Mapping[str, Any],
        *,
        control_plane: bool,
    ) -> Answer:
        kube = self._kube()
        made = node.node(machine, given.get("nodeRegistration") or {}, control_plane=control_plane)
        name = made["metadata"]["name"]
        self._joined(machine, name, question)
        kube.apply(made, MANAGER, force=True)
        version = str(cluster.get("kubernetesVersion") or f"v{question.get('version', '')}")
        kube.patch("v1", "Node", name, None, {"status": node.status(machine, question, version)}, "status", STRATEGIC)
        admin = self._told().kubeconfig.read_text()
        answer = {"kubelet": question.get("kubelet", ""), "kubeconfig": admin}
        return {**answer, "admin": admin} if control_plane else answer

    def _upgrade(self, version: str) -> Answer:
        """`kubeadm upgrade apply` uploads the version that it brought; the API server itself stays what it is here."""
        kube = self._kube()
        kept = kube.get("v1", "ConfigMap", "kubeadm-config", "kube-system")
        if kept is None:
            return {"error": 'configmaps "kubeadm-config" not found'}
        told = yaml.safe_load(kept["data"]["ClusterConfiguration"]) | {"kubernetesVersion": version}
        changed = {"data": {"ClusterConfiguration": yaml.safe_dump(told)}}
        kube.patch("v1", "ConfigMap", "kubeadm-config", "kube-system", changed)
        return {}

    def _kubectl(self, question: Question) -> Answer:
        words = [str(each) for each in json.loads(question["words"])]
        done = subprocess.run(
            # It waits for minutes where it is told to, and ends with us.
            [
                "setpriv",
                "--pdeathsig",
                "KILL",
                self._told().kubectl,
                *_without_kubeconfig(words),
                f"--kubeconfig={self._told().kubeconfig}",
            ],
            input=question.get("stdin", ""),
            capture_output=True,
            text=True,
            timeout=KUBECTL_SECONDS,
            check=False,
        )
        return {"stdout": done.stdout, "stderr": done.stderr, "status": str(done.returncode)}

    def _kube(self) -> Kube:
        return Kube.from_kubeconfig(str(self._told().kubeconfig))

    def _told(self) -> Plane:
        if self._plane is None:
            raise Unreachable("no control plane has been made yet")
        return self._plane


def _another(first: Machine, endpoint: str) -> str:
    """What a second cluster comes to. Where the first one holds the address that both are to have, kubeadm finds
    another authority there; where nobody does, it makes a cluster of its own, and a hall has one.

    Source: kubeadm asks by admin.conf, which names the address and its own authority
    (cmd/kubeadm/app/util/apiclient/wait.go, WaitForControlPlaneComponents).
    """
    return (
        f'kube-apiserver check failed: Get "https://{endpoint}/livez": tls: failed to verify certificate: x509: '
        f"certificate signed by unknown authority (this hall has one cluster, which began on {first.name})"
    )


def _token_of(given: Mapping[str, Any]) -> str:
    discovery = given.get("discovery") or {}
    return str(discovery.get("tlsBootstrapToken") or (discovery.get("bootstrapToken") or {}).get("token") or "")


def _without_kubeconfig(words: list[str]) -> list[str]:
    """kubectl's words without the path of a kubeconfig that lies on the host."""
    kept, skip = [], False
    for word in words:
        if skip or word == "--kubeconfig" or word.startswith("--kubeconfig="):
            skip = word == "--kubeconfig"
            continue
        kept.append(word)
    return kept


def _token(token: Mapping[str, Any]) -> dict[str, Any]:
    """The Secret that kubeadm init makes of a bootstrap token; without a `ttl` it is good for a day."""
    identity, _, secret = str(token["token"]).partition(".")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": f"bootstrap-token-{identity}", "namespace": "kube-system"},
        "stringData": {
            "token-id": identity,
            "token-secret": secret,
            "expiration": (datetime.now(UTC) + _span(str(token.get("ttl") or "24h"))).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": ",".join(token.get("groups") or ()),
        },
    }


def _span(text: str) -> timedelta:
    """A duration as Go writes it, in hours, minutes and whole seconds: `15m0s`."""
    units = {"h": "hours", "m": "minutes", "s": "seconds"}
    number, span = "", timedelta()
    for character in text:
        if character in units:
            span += timedelta(**{units[character]: int(number or 0)})
            number = ""
        else:
            number += character
    return span
