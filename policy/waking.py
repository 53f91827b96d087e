"""A rule about what goes to zero replicas: something outside of it must bring the first one back."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import metadata_of, namespace_of, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.pods import is_kubernetes
from policy.rule import Finding, rule
from policy.selectors import holds_all, selected
from policy.serving import scaled_by

USES = frozenset({"cpu", "memory"})
"""Triggers that measure pods: with none there is nothing to measure."""

_OWN = re.compile(r"(?:vllm:|sglang:|tgi_|nv_inference_)\w+")
"""Series that model servers export of themselves: vLLM, SGLang, Text Generation Inference, Triton."""
_SERIES = re.compile(
    r"[a-zA-Z_:][\w:]*(?=\s*[{\[])|(?<![\w:])(?:[a-z]+:[\w:]+|[a-zA-Z][a-zA-Z0-9]*_\w+)(?!\s*\()(?![\w:])"
)
"""Of a query without its words: a name before `{` or `[`, or one with a colon or an underscore that is no function."""
_IN_WORDS = re.compile(
    r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)'
)
"""Texts, and the labels by which series are put together: no names of series."""
_MADE_UP = re.compile(r"\b(?:vector|absent|absent_over_time)\s*\(")
"""What gives a value where there are no series."""
_PAUSED = "autoscaling.keda.sh/paused"


@rule(
    source="KEDA: https://keda.sh/docs/2.20/reference/scaledobject-spec/ (minReplicaCount, idleReplicaCount; cpu "
    "and memory wake nothing; paused annotations); chart keda, values.yaml (watchNamespace)",
    remedy="add a trigger that others feed (requests at the gateway, a queue, cron), or minReplicaCount: 1; no paused "
    "annotation; watchNamespace: the ScaledObject's or none",
)
def services_at_zero_can_wake(graph: Graph) -> Iterator[Finding]:
    """What may go to zero has a trigger that is fed while no pod of it runs, and a KEDA that looks at it (X12, Q08)."""
    keda = [each for each in graph.of_type(*IN_CHARTS) if chart_of(each) == "keda"]
    told = [str(value_at(each.inputs.get("values"), "watchNamespace") or "") for each in keda]
    watched = {space for each in told for space in each.split(",")}
    for each in graph.of_type("ScaledObject"):
        spec = spec_of(each)
        if not is_kubernetes(each) or 0 not in (spec.get("minReplicaCount", 0), spec.get("idleReplicaCount")):
            continue
        place, annotations = namespace_of(each), metadata_of(each).get("annotations") or {}
        if graph.of_type("Release") and not keda and metadata_of(each).get("name") not in graph.fed_autoscalers:
            yield each.name, "is a ScaledObject, and nothing here installs KEDA: it does nothing"
        if keda and not watched & {"", place, UNKNOWN}:
            yield each.name, f"lies in {place}, and KEDA looks at {', '.join(sorted(watched))} alone"
        if str(annotations.get(_PAUSED)) == "true" or str(annotations.get(f"{_PAUSED}-replicas")) == "0":
            yield each.name, "is paused by its annotation: at zero it stays there"
        if why := _asleep(graph, each):
            yield each.name, f"goes to zero, and no trigger of it is fed there: {'; '.join(why)}"


def _asleep(graph: Graph, scaled: Resource) -> list[str]:
    """Of each trigger why it cannot wake; none if one can."""
    found = [_fed_by_itself(graph, scaled, each) for each in spec_of(scaled).get("triggers") or []]
    if not found:
        return ["it has no trigger"]
    return list(dict.fromkeys(each for each in found if each)) if all(found) else []


def _fed_by_itself(graph: Graph, scaled: Resource, trigger: Mapping[str, Any]) -> str | None:
    """Why a trigger says nothing while no pod of its own target runs; None where it may say something."""
    kind, told = trigger.get("type"), trigger.get("metadata") or {}
    if kind in USES:
        return f"{kind} is measured in pods"
    if kind == "prometheus":
        query = str(told.get("query") or "")
        named = set(_SERIES.findall(_IN_WORDS.sub("", query)))
        of_others = '"' in query and scaled_by(scaled)[2] not in query
        own = bool(named) and all(map(_OWN.fullmatch, named)) and not of_others
        if own and not _MADE_UP.search(query) and UNKNOWN not in query:
            return f"{', '.join(sorted(named))} is exported by the pods themselves"
    if kind == "kubernetes-workload" and holds_all(graph, namespace_of(scaled)):
        wanted = dict(part.split("=", 1) for part in str(told.get("podSelector") or "").split(",") if "=" in part)
        meant = list(selected(graph, namespace_of(scaled), {"matchLabels": wanted})) if wanted else []
        target = scaled_by(scaled)
        if meant and all((pod.kind, pod.namespace, metadata_of(pod.maker).get("name")) == target for pod in meant):
            return f"{told['podSelector']} means its own pods"
    return None
