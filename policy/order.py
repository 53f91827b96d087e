"""Rules about order: what a pod or an object needs is there before it is."""

from collections.abc import Iterator
from typing import Any

from policy.graph import UNKNOWN, Graph, Resource
from policy.identity import ASSOCIATION
from policy.owners import DEFINITIONS, IN_CHARTS, chart_of, value_at
from policy.pods import is_kubernetes, pods
from policy.references import before
from policy.rule import Finding, rule


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html, "
    "pod-id-how-it-works.html: credentials are put into a pod when it is made; one that is older has none",
    remedy="let the workload depend on the association of its service account",
)
def pods_come_after_their_credentials(graph: Graph) -> Iterator[Finding]:
    """A pod's service account has its association before the pod is made."""
    accounts = {
        (each.inputs.get("namespace"), each.inputs.get("serviceAccount")): each for each in graph.of_type(ASSOCIATION)
    }
    users: list[tuple[Resource, tuple[Any, Any]]] = [
        (pod.maker, (pod.namespace, pod.spec.get("serviceAccountName"))) for pod in pods(graph)
    ]
    for each in graph.of_type(*IN_CHARTS):
        users.append((each, (each.inputs.get("namespace"), value_at(each.inputs.get("values"), "serviceAccount.name"))))
    known = {one.urn: (one, account) for one, account in users if account in accounts and UNKNOWN not in account}
    for user, account in known.values():
        if accounts[account].urn not in before(graph, user):
            yield user.name, f"may start before {accounts[account].name}, and then has no credentials"


def _brings(each: Resource, switch: tuple[str, bool]) -> bool:
    path, usual = switch
    given = value_at(each.inputs.get("values"), path) if path else None
    return bool(usual if given is None else given)


@rule(
    source="Kubernetes: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-"
    "definitions/: before its definition is there, the API server has no matches for the kind",
    remedy="let the object depend on the release that brings the definition",
)
def definitions_come_first(graph: Graph) -> Iterator[Finding]:
    """A custom resource waits for the chart of the program that brings its definition."""
    releases = [each for each in graph.of_type(*IN_CHARTS) if is_kubernetes(each)]
    for each in graph.resources.values():
        group = each.token.removeprefix("kubernetes:").split("/")[0]
        if not is_kubernetes(each) or group not in DEFINITIONS:
            continue
        bringing = [one for one in releases if _brings(one, DEFINITIONS[group].get(chart_of(one), ("", False)))]
        if bringing and not {one.urn for one in bringing} & before(graph, each):
            yield each.name, f"may come before {bringing[0].name}, which brings the definitions of {group}"
