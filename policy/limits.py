"""Rules about what admission takes: the limits of a namespace and the pods in it."""

from collections.abc import Iterator

from policy.gangs import namespace_of, quantity, spec_of
from policy.graph import UNKNOWN, Graph
from policy.pods import is_kubernetes, pods
from policy.rule import Finding, rule


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
