"""Rules about machines that join by kubeadm: pods find one with their labels, whose taints they tolerate."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policy.graph import UNKNOWN, Graph
from policy.kubernetes import tolerates
from policy.pods import pods
from policy.rule import Finding, rule

_NAME = re.compile(r"nodeRegistration:\n\s+name: (\S+)")
_LABELS = re.compile(r"- name: node-labels\n\s+value: '?([^'\n]+)'?")
_TAINT = re.compile(r"- key: (\S+)\n\s+value: (\S*)\n\s+effect: (\w+)")
EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A machine as kubeadm's configuration lets it join. A taint is written as EKS writes it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]


def machines(graph: Graph) -> list[Machine]:
    """Every machine whose text of preparation has kubeadm's configuration; none where one is not known yet."""
    return list(graph.once(machines, lambda: tuple(_machines(graph))))


def _machines(graph: Graph) -> Iterator[Machine]:
    texts = [str(each.inputs.get("stdin") or "") for each in graph.of_type("Command")]
    for text in texts if UNKNOWN not in texts else ():
        for part in text.split("nodeRegistration:")[1:]:
            part = f"nodeRegistration:{part}"
            name, labels = _NAME.search(part), _LABELS.search(part)
            if name and labels:
                yield Machine(
                    name=name[1],
                    labels=dict(word.partition("=")[::2] for word in labels[1].split(",")),
                    taints=tuple(
                        {"key": key, "value": value, "effect": EFFECTS[effect]}
                        for key, value, effect in _TAINT.findall(part)
                        if effect in EFFECTS
                    ),
                )


@rule(
    source="kubeadm v1beta4: nodeRegistration (kubeletExtraArgs node-labels, taints); Kubernetes: "
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    remedy="select labels with which a machine joins, and tolerate its taints",
)
def pods_find_their_machines(graph: Graph) -> Iterator[Finding]:
    """A pod's node selector matches a machine that joins, and the pod tolerates its taints (J09, J10)."""
    joined = machines(graph)
    written = {key for each in joined for key in each.labels}
    for pod in pods(graph) if joined else ():
        wanted = {key: value for key, value in (pod.spec.get("nodeSelector") or {}).items() if key in written}
        fitting = [each for each in joined if wanted.items() <= each.labels.items()]
        if not fitting:
            yield pod.owner, f"selects machines with {wanted}, with which none joins"
        elif not any(all(tolerates(pod, taint) for taint in each.taints) for each in fitting):
            keys = ", ".join(sorted({taint["key"] for each in fitting for taint in each.taints}))
            yield pod.owner, f"does not tolerate {keys} of the machines that it selects"
