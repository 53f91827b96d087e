"""Whether a declared run has its gang: one PodGroup, of the right minimum, with all pods of the run in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.engine.declared import Declared
from rehearsal.engine.look import Look, Object, because
from rehearsal.plugins.kubernetes.objects import condition, dig, holds

VOLCANO = ("scheduling.volcano.sh/v1beta1", "PodGroup")
POD_GROUPS = (VOLCANO, ("scheduling.x-k8s.io/v1alpha1", "PodGroup"))
"""What Kubeflow's operators make with `--gang-scheduler-name=volcano`, and with the name of any other scheduler."""
VOLCANO_JOB = ("batch.volcano.sh/v1alpha1", "Job")
ENDED_WELL = frozenset({"Completed", "Completing"})
ENDED = frozenset({"Failed", "Aborted", "Terminated"})


@dataclass(frozen=True)
class Size:
    """Pods of a run as it was registered, and how many of them must start together."""

    pods: int
    together: int


def size(api_version: str, kind: str, spec: Mapping[str, Any]) -> Size | None:
    """The size of a run; None for what is no run.

    Kubeflow's kinds hold roles below a key such as `pytorchReplicaSpecs`, Volcano's Job a list of tasks. All pods of a
    run start together but for those that an elastic policy, or a task's own minimum, leaves out.
    """
    if (api_version, kind) == VOLCANO_JOB:
        tasks = [(int(each.get("replicas", 1)), each.get("minAvailable")) for each in spec.get("tasks") or ()]
        return Size(sum(pods for pods, _ in tasks), sum(pods if least is None else int(least) for pods, least in tasks))
    parts = (value for key, value in spec.items() if key.endswith("ReplicaSpecs") and isinstance(value, Mapping))
    roles = [role for part in parts for role in part.values()]
    if not roles:
        return None
    pods = sum(int(dig(role, "replicas", default=1)) for role in roles)
    return Size(pods, int(dig(spec, "elasticPolicy", "minReplicas", default=pods)))


def complaints(item: Declared, live: Object, look: Look) -> Iterator[str]:
    """What is wrong with a run; nothing for other kinds, and for runs that ended well or are declared suspended."""
    spec = item.wanted.get("spec") or live.get("spec") or {}
    wanted = size(item.api_version, item.kind, spec)
    if wanted is None or dig(spec, "runPolicy", "suspend") or _succeeded(live):
        return
    if failure := _failure(live):
        yield f"{item.label} has failed: {failure}"
        return
    groups = [
        (kind, group) for kind in POD_GROUPS for group in look.all(*kind) if _owned(group, live["metadata"].get("uid"))
    ]
    if not groups and (any(look.served(*kind) for kind in POD_GROUPS) or dig(spec, "runPolicy", "schedulingPolicy")):
        yield (
            f"{item.label} has no PodGroup, so that its {wanted.pods} pods start one by one and some may hold GPUs and "
            "wait for the others without end: start its operator with its gang flag (Kubeflow's training operator: "
            "--gang-scheduler-name=volcano)" + look.why(live, item.kind)
        )
    for kind, group in groups:
        yield from _gang(item, wanted, group, look, told=kind == VOLCANO)


def _gang(item: Declared, wanted: Size, group: Object, look: Look, *, told: bool) -> Iterator[str]:
    """`told` says that a gang below its own minimum is complained of wherever there is one."""
    least = int(dig(group, "spec", "minMember", default=1))
    if not wanted.together <= least <= wanted.pods:
        yield (
            f"{item.label} has {wanted.pods} pods, and its PodGroup starts them when there is room for {least}: set "
            f"schedulingPolicy.minAvailable to {wanted.together}, or leave it out"
        )
    there = int(dig(group, "status", "running", default=0)) + int(dig(group, "status", "succeeded", default=0))
    if there < wanted.together and not (told and there < least):
        meta = group["metadata"]
        why = look.events("PodGroup", meta["name"], meta.get("namespace"))
        yield f"{item.label} has {there} of {wanted.pods} pods running" + because(why)


def _owned(group: Object, uid: str | None) -> bool:
    """Whether an operator made the group for the run of that uid.

    Volcano makes one as well, of a minimum of its own, for pods that nobody grouped: `podgroup-UID` (volcano.sh/apis
    pkg/apis/helpers/helpers.go, GeneratePodgroupName; pkg/controllers/podgroup, newPGOwnerReferences).
    """
    owners = dig(group, "metadata", "ownerReferences", default=[])
    own = any(owner.get("uid") == uid for owner in owners)
    return uid is not None and own and group["metadata"]["name"] != f"podgroup-{uid}"


def _succeeded(live: Object) -> bool:
    return holds(live, "Succeeded") or dig(live, "status", "state", "phase") in ENDED_WELL


def _failure(live: Object) -> str:
    if holds(live, "Failed"):
        failed = condition(live, "Failed")
        return f"{failed.get('reason')}: {failed.get('message')}"
    state = dig(live, "status", "state", default={})
    return f"{state['phase']}: {state.get('message') or 'no reason given'}" if state.get("phase") in ENDED else ""
