"""What an object that the engine waits for still lacks, in a few words."""

from collections.abc import Iterable, Mapping, Sequence

from rehearsal.engine.events import Step
from rehearsal.engine.view import ClusterView

Waits = Mapping[tuple[str, str], str]
"""By namespace and name."""

_LENGTH = 100


def waits(clusters: Iterable[ClusterView]) -> dict[tuple[str, str], str]:
    """What each Deployment and gang that is not complete waits for: "0 of 2 pods, no node has room"."""
    found: dict[tuple[str, str], str] = {}
    for cluster in clusters:
        for gang in cluster.gangs:
            if gang.short:
                found[gang.namespace, gang.name] = f"{gang.running} of {gang.members} pods{_because(gang.why)}"
        for each in cluster.services:
            if each.ready < each.desired:
                found[each.namespace, each.name] = f"{each.ready} of {each.desired} pods{_because(each.why)}"
    return found


def told(step: Step, known: Waits) -> str:
    """What a step waits for, behind a colon; empty where nothing is known. A release waits for its namespace."""
    text = known.get(step.object) if step.object else None
    if text is None and step.object and step.type.endswith(":Release"):
        text = next((f"{name} {said}" for (where, name), said in known.items() if where == step.object[0]), None)
    return f": {text}" if text else ""


def _because(why: Sequence[str]) -> str:
    if not why:
        return ""
    first = why[0]
    if "nodes are available" in first:
        return ", no node has room" if "Insufficient" in first else ", no node takes them"
    for reason in ("ImagePullBackOff", "ErrImagePull", "CrashLoopBackOff", "CreateContainerConfigError"):
        if reason in first:
            return f", {reason}"
    return f", {first[:_LENGTH]}"
