"""Rules about who gets the GPUs: a share is held by what knows priorities."""

import re
from collections.abc import Iterator

from policy.gangs import amount, copies, metadata_of, namespace_of, roles, spec_of, whole
from policy.graph import Graph, Resource
from policy.owners import chart_of, value_at
from policy.pods import Pod, is_kubernetes, pods
from policy.rule import Finding, rule

PLUGINS = {
    *("priority", "gang", "conformance", "drf", "predicates", "proportion", "nodeorder", "binpack", "overcommit"),
    *("capacity", "deviceshare", "extender", "network-topology-aware", "nodegroup", "numa-aware", "pdb", "cdp", "sla"),
    *("rescheduling", "resource-strategy-fit", "resourcequota", "task-topology", "tdm", "usage"),
}
"""Names under which Volcano 1.14 knows its plugins (pkg/scheduler/plugins/factory.go)."""


@rule(
    source="Kubernetes: Resource Quotas (admission counts every pod, whatever its priority); "
    "Volcano preempts for pods that are there, and pending",
    remedy="hold shares by queues (capability, deserved) or by a quota with a scopeSelector of the PriorityClass",
)
def quotas_leave_preemption(graph: Graph) -> Iterator[Finding]:
    """No GPU quota rejects a gang whose priority class could preempt others (KJ11)."""
    values = {
        each.inputs.get("value")
        for each in graph.of_type("PriorityClass")
        if each.inputs.get("preemptionPolicy", "PreemptLowerPriority") != "Never"
    }
    gangs = {namespace_of(each): each.name for each in graph.resources.values() if is_kubernetes(each) and _gang(each)}
    for each in graph.of_type("ResourceQuota"):
        hard = [key for key in spec_of(each).get("hard") or {} if key.endswith("nvidia.com/gpu")]
        scoped = spec_of(each).get("scopeSelector") or spec_of(each).get("scopes")
        if hard and not scoped and len(values) > 1 and namespace_of(each) in gangs:
            number = spec_of(each)["hard"][hard[0]]
            yield (
                each.name,
                f"limits the pods of {namespace_of(each)} to {number} GPUs, whatever their class: those of a gang like "
                f"{gangs[namespace_of(each)]} are rejected before anything is preempted",
            )


def _gang(each: Resource) -> bool:
    return bool(roles(each)) or each.token.startswith("kubernetes:batch.volcano.sh/")


@rule(
    source="Volcano 1.15: installer/helm/chart/volcano/config/volcano-scheduler.conf (enqueue, allocate, backfill)",
    remedy="custom.scheduler_config_override with the actions enqueue, allocate, backfill, reclaim, preempt, and the "
    "plugins priority, gang, predicates and proportion",
)
def scheduler_forms_gangs(graph: Graph) -> Iterator[Finding]:
    """The scheduler's configuration keeps gangs together, sees nodes and queues, and preempts by priority (KJ11)."""
    values = {each.inputs.get("value") for each in graph.of_type("PriorityClass")}
    for release in graph.of_type("Release"):
        if chart_of(release) != "volcano" or not any(_gang(each) for each in graph.resources.values()):
            continue
        text = str(value_at(release.inputs.get("values"), "custom.scheduler_config_override") or "")
        if text and not re.search(r"name:\s*['\"]?gang\b", text):
            yield release.name, "configures its scheduler without the plugin gang: pods of a gang start one by one"
        actions = re.search(r"actions:\s*['\"]?([\w, ]+)", text)
        if actions and "allocate" not in actions[1]:
            yield release.name, "has no action allocate: no pod of a gang is ever placed"
        named = re.findall(r"name:\s*['\"]?([\w-]+)", text)
        for name in sorted({*named} - PLUGINS) if text else ():
            yield release.name, f"names the plugin {name} for its scheduler, which has none of that name and goes on"
        if text and "predicates" not in named:
            yield (
                release.name,
                "configures its scheduler without predicates: taints, selectors and affinity are ignored",
            )
        queues = [each for each in graph.of_type("Queue") if is_kubernetes(each)]
        if text and queues and not {"proportion", "capacity"} & set(named):
            yield release.name, f"shares nothing by queues like {queues[0].name}: neither proportion nor capacity"
        if len(values) > 1 and "preempt" not in (actions[1] if actions else ""):
            yield release.name, f"has no action preempt, though {len(values)} classes of priority differ: none preempts"


@rule(
    source="Kubernetes: Pod Priority and Preemption (one globalDefault; system- is reserved; values up to 1000000000)",
    remedy="mark one class globalDefault at most, and give it a name and a value of users",
)
def priorities_are_allowed(graph: Graph) -> Iterator[Finding]:
    """The API server accepts every PriorityClass: one default at most, names and values allowed for users (KJ11)."""
    classes = [each for each in graph.of_type("PriorityClass") if is_kubernetes(each)]
    defaults = [each.name for each in classes if each.inputs.get("globalDefault") is True]
    for name in defaults[1:]:
        yield name, f"is the default class, which {defaults[0]} is already"
    for each in classes:
        name = str(metadata_of(each).get("name", ""))
        if name.startswith("system-") or whole(each.inputs.get("value"), 0) > 1_000_000_000:
            yield each.name, f"is called {name} with the value {each.inputs.get('value')}, which the API server refuses"


@rule(
    source="Volcano: Queue (a job that names none is put into `default`, past the shares of the others)",
    remedy="name a queue: runPolicy.schedulingPolicy.queue, or spec.queue of a Volcano Job",
)
def jobs_name_their_queue(graph: Graph) -> Iterator[Finding]:
    """If there are queues, every gang is in one of them (A08)."""
    if not [each for each in graph.of_type("Queue") if is_kubernetes(each)]:
        return
    for each in graph.resources.values():
        spec = spec_of(each)
        policy = (spec.get("runPolicy") or {}).get("schedulingPolicy") or {}
        if (
            is_kubernetes(each)
            and _gang(each)
            and each.kind.endswith("Job")
            and not (policy.get("queue") or spec.get("queue"))
        ):
            yield each.name, "names no queue, so it is put into `default`, outside the other queues' shares"


@rule(
    source="Volcano 1.15: pkg/scheduler/plugins/proportion and capacity (a job is let in while its queue is below its "
    "capability); https://volcano.sh/en/docs/queue/",
    remedy="raise the queue's capability to what its largest gang takes, or leave the resource out of it",
)
def queues_hold_their_gangs(graph: Graph) -> Iterator[Finding]:
    """A queue's capability is at least what each of its gangs takes at once: with less, the gang never starts."""
    queues = {metadata_of(each).get("name"): each for each in graph.of_type("Queue") if is_kubernetes(each)}
    taken: dict[tuple[str, str, str], int] = {}
    for pod in pods(graph):
        spec = spec_of(pod.maker)
        policy = (spec.get("runPolicy") or {}).get("schedulingPolicy") or {}
        queue = str(policy.get("queue") or (spec.get("queue") if _gang(pod.maker) else "") or "")
        most = (spec_of(queues[queue]).get("capability") or {}) if queue in queues else {}
        for resource in (each for each in most if "/" in each):
            key = (pod.owner, queue, resource)
            taken[key] = taken.get(key, 0) + amount(pod, resource) * _least(pod)
    for (owner, queue, resource), number in taken.items():
        capability = whole(spec_of(queues[queue])["capability"][resource], number)
        if number > capability:
            yield owner, f"takes {number} {resource} at once, and its queue {queue} has {capability}: it never starts"


def _least(pod: Pod) -> int:
    """How many pods of this spec start together, as far as it says so: of an elastic job its fewest."""
    spec = spec_of(pod.maker)
    if pod.maker.token.startswith("kubernetes:batch.volcano.sh/") and "minAvailable" in spec:
        tasks = [whole(task.get("replicas"), 1) for task in spec.get("tasks") or []]
        return copies(pod) if whole(spec["minAvailable"], 0) >= sum(tasks) else 0
    return whole((spec.get("elasticPolicy") or {}).get("minReplicas"), copies(pod))
