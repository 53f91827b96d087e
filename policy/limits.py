"""Rules about what admission takes: limits and quotas of a namespace, policies, webhooks."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import copies, metadata_of, namespace_of, quantity, spec_of
from policy.graph import UNKNOWN, Graph
from policy.pods import is_kubernetes, pods
from policy.rule import Finding, rule
from policy.selectors import object_named, selected, selects, worn
from policy.traffic import labels_of


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/policy/limit-range/: a pod outside of min and max is "
    "forbidden; its controller makes none, and only its events say so",
    remedy="raise the LimitRange's max above what the largest container of the namespace asks for, or leave it out",
)
def namespaces_limits_let_their_pods_in(graph: Graph) -> Iterator[Finding]:
    """A container asks for no more than the LimitRange of its namespace lets in, and for no less."""
    for each in graph.of_type("LimitRange"):
        place = namespace_of(each)
        for bound in spec_of(each).get("limits") or [] if is_kubernetes(each) and place != UNKNOWN else ():
            if bound.get("type") != "Container":
                continue
            for pod in pods(graph):
                for container in pod.containers if pod.namespace == place else ():
                    resources = container.get("resources") or {}
                    given = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
                    for name, value in given.items():
                        asked = quantity(value)
                        most = quantity((bound.get("max") or {}).get(name))
                        least = quantity((bound.get("min") or {}).get(name))
                        if asked is not None and ((most is not None and asked > most) or (least or 0) > asked):
                            yield (
                                pod.owner,
                                f"asks for {value} {name} in {container.get('name')}, which {each.name} forbids",
                            )


COUNTED = ("cpu", "memory")


def _set(container: Mapping[str, Any], key: str) -> bool:
    """Whether a container says what a quota's key counts: requests.cpu, limits.memory, cpu, which is a request."""
    kind, _, name = key.rpartition(".")
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    return name in limits or (kind != "limits" and name in requests)


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/policy/resource-quotas/: with a quota on cpu or memory a "
    "pod that does not say its own is forbidden: failed quota, must specify",
    remedy="let each container say it, or give the namespace a LimitRange with defaults",
)
def quotas_are_of_what_pods_say(graph: Graph) -> Iterator[Finding]:
    """A quota on processors or memory counts what each pod of its namespace says, or a LimitRange says for it."""
    defaults = {namespace_of(each) for each in graph.of_type("LimitRange")}
    for each in graph.of_type("ResourceQuota"):
        keys = [key for key in spec_of(each).get("hard") or {} if key.rpartition(".")[2] in COUNTED]
        if spec_of(each).get("scopes") or spec_of(each).get("scopeSelector") or namespace_of(each) in defaults:
            continue
        for pod in pods(graph) if namespace_of(each) != UNKNOWN else ():
            for container in pod.containers if pod.namespace == namespace_of(each) else ():
                if silent := [key for key in keys if not _set(container, key)]:
                    yield pod.owner, f"says no {silent[0]} in {container.get('name')}, which {each.name} counts"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/policy/resource-quotas/ (pods, count/RESOURCE, "
    "persistentvolumeclaims, requests.storage): what exceeds it is forbidden; a controller tries again for ever",
    remedy="raise the quota to what the program puts into the namespace, or give it a scope that leaves the others out",
)
def quotas_hold_what_is_registered(graph: Graph) -> Iterator[Finding]:
    """A quota lets in the pods and claims that the program puts into its namespace; its scope is a class that is."""
    classes = {metadata_of(one).get("name") for one in graph.of_type("PriorityClass")}
    for each in graph.of_type("ResourceQuota"):
        scopes = (spec_of(each).get("scopeSelector") or {}).get("matchExpressions") or []
        for name in [
            value for one in scopes if one.get("scopeName") == "PriorityClass" for value in one.get("values") or []
        ]:
            if classes and name not in classes and not str(name).startswith("system-") and UNKNOWN not in classes:
                yield each.name, f"counts the pods of the class {name}, which nothing makes: it holds nobody back"
        place, hard = namespace_of(each), spec_of(each).get("hard") or {}
        if spec_of(each).get("scopes") or spec_of(each).get("scopeSelector") or place == UNKNOWN:
            continue
        claims = [one for one in graph.of_type("PersistentVolumeClaim") if namespace_of(one) == place]
        sizes = [((spec_of(one).get("resources") or {}).get("requests") or {}).get("storage") for one in claims]
        standing = sum(copies(pod) for pod in pods(graph) if pod.namespace == place and pod.kind not in ENDING)
        for keys, there in (
            (("pods", "count/pods"), standing),
            (("persistentvolumeclaims", "count/persistentvolumeclaims"), len(claims)),
            (("requests.storage",), sum(quantity(size) or 0 for size in sizes)),
        ):
            for key in keys:
                most = quantity(hard.get(key))
                if most is not None and there > most:
                    yield (
                        each.name,
                        f"lets {hard[key]} {key} into {place}, and the program alone puts {int(there):,} there",
                    )


ENDING = ("Job", "CronJob")
"""Kinds whose pods end, and may take turns."""


@rule(
    source="Kubernetes: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/ (without "
    "a binding a policy has no effect; validationActions: Audit and Warn let everything in)",
    remedy="a ValidatingAdmissionPolicyBinding with the policy's name and validationActions: [Deny]; failurePolicy: "
    "Fail, which is the default",
)
def admission_policies_refuse(graph: Graph) -> Iterator[Finding]:
    """An admission policy has a binding by which it refuses, and a binding its policy."""
    made = {str(metadata_of(each).get("name")): each.name for each in graph.of_type("ValidatingAdmissionPolicy")}
    denied: set[str] = set()
    named: dict[str, str] = {}
    for each in graph.of_type("ValidatingAdmissionPolicyBinding"):
        name = str(spec_of(each).get("policyName"))
        named[name] = each.name
        if "Deny" in (spec_of(each).get("validationActions") or []):
            denied.add(name)
    for each in graph.of_type("ValidatingAdmissionPolicy"):
        if spec_of(each).get("failurePolicy") == "Ignore":
            yield each.name, "lets in what its expressions fail on (failurePolicy Ignore)"
    for name, owner in made.items():
        if UNKNOWN not in (name, *named) and name not in denied:
            yield owner, "refuses nothing: no binding of it says Deny"
    for name, owner in named.items():
        if name not in made and UNKNOWN not in (name, *made):
            yield owner, f"binds the policy {name}, which nothing creates"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/ "
    "(avoid deadlocks in self-hosted webhooks)",
    remedy="leave the webhook's own namespace out by a namespaceSelector, or set failurePolicy: Ignore",
)
def webhooks_let_their_own_pods_in(graph: Graph) -> Iterator[Finding]:
    """A webhook without which pods are refused is not asked about its own: once all are gone, none comes back."""
    for each in graph.of_type("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        for hook in each.inputs.get("webhooks") or []:
            service = (hook.get("clientConfig") or {}).get("service") or {}
            place, name = str(service.get("namespace")), str(service.get("name"))
            found = object_named(graph, "Service", place, name)
            own = list(selected(graph, place, {"matchLabels": spec_of(found).get("selector") or {}})) if found else []
            fails = hook.get("failurePolicy", "Fail") == "Fail" and any(
                _of_pods(one) for one in hook.get("rules") or []
            )
            for pod in own if fails and selects(hook.get("namespaceSelector") or {}, labels_of(graph, place)) else ():
                if selects(hook.get("objectSelector") or {}, worn(pod)):
                    yield each.name, f"asks {pod.owner} about its own pods ({hook.get('name')}), and fails without it"


def _of_pods(given: Mapping[str, Any]) -> bool:
    """Whether a webhook's rule is about new pods."""
    return bool(
        {"CREATE", "*"} & set(given.get("operations") or [])
        and {"", "*"} & set(given.get("apiGroups") or [])
        and {"pods", "*", "*/*"} & set(given.get("resources") or [])
    )
