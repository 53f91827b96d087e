"""Rules about what is declared and never works: paused, of no pods, at a time that does not come, in a closed queue."""

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import available_timezones

from policy.documents import as_list
from policy.gangs import APART, GPU, amount, spec_of
from policy.graph import UNKNOWN, Graph
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.pods import is_kubernetes, pods
from policy.rule import Finding, rule
from policy.serving import scaled_by

MACROS = frozenset(f"@{each}" for each in ("yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"))
FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("day of the week", 0, 6))
_WORDS = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)\b", re.IGNORECASE)
_PART = re.compile(r"(?:[*?]|(\d+)(?:-(\d+))?)(?:/(\d+))?")


SWITCHES: Mapping[str, tuple[str, ...]] = {
    "volcano": (
        *(f"custom.{each}_replicas" for each in ("scheduler", "controller", "admission")),
        *(f"custom.{each}_enable" for each in ("scheduler", "controller")),
    ),
    "prometheus-adapter": ("replicas",),
    "metrics-server": ("replicas",),
    "cert-manager": ("replicaCount", "webhook.replicaCount", "cainjector.replicaCount"),
    "external-secrets": ("replicaCount", "webhook.replicaCount", "certController.replicaCount"),
    "keda": ("operator.replicaCount", "metricsServer.replicaCount", "webhooks.replicaCount"),
}
"""By chart: values (of their values.yaml) of which 0 or false leaves a part away that the others need."""


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#pausing-and-resuming-a-"
    "deployment, controllers/job/#parallel-execution-for-jobs, controllers/cron-jobs/#schedule-suspension; an HPA does "
    "nothing for a target of 0 replicas",
    remedy="take paused, suspend and the 0 (or false) out, or leave the object out of the program",
)
def work_is_switched_on(graph: Graph) -> Iterator[Finding]:
    """What is declared runs: no Deployment is paused, no workload or part of a chart has 0 pods, no CronJob waits."""
    from_zero = {scaled_by(each) for each in graph.of_type("ScaledObject")}
    for each in graph.resources.values():
        if not is_kubernetes(each):
            continue
        spec, metadata = spec_of(each), each.inputs.get("metadata") or {}
        target = (each.kind, metadata.get("namespace", "default"), metadata.get("name") or "")
        if each.kind == "Deployment" and spec.get("paused") is True:
            yield each.name, "is a Deployment that is paused: its pods stay as they were, or are never made"
        if each.kind in ("Deployment", "StatefulSet") and spec.get("replicas") == 0 and target not in from_zero:
            yield each.name, f"is a {each.kind} of 0 replicas, which nothing raises"
        if each.kind == "Job":
            for key in ("completions", "parallelism"):
                if spec.get(key) == 0:
                    yield each.name, f"is a Job with {key} 0: it makes no pod"
        if each.kind == "CronJob" and spec.get("suspend") is True:
            yield each.name, "is a CronJob that is suspended: it starts nothing"
        for path in SWITCHES.get(chart_of(each), ()) if each.kind in IN_CHARTS else ():
            if value_at(each.inputs.get("values"), path) == 0:
                yield each.name, f"is {chart_of(each)} with {path} {value_at(each.inputs['values'], path)}"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ (robfig/cron's standard "
    "parser, which the API server validates with; time zones of the IANA database; concurrencyPolicy is Allow)",
    remedy="five fields (minute hour day month weekday) or a macro such as @daily, a timeZone such as Etc/UTC, and "
    "concurrencyPolicy: Forbid where its pods take GPUs",
)
def schedules_are_times(graph: Graph) -> Iterator[Finding]:
    """A CronJob's schedule is one that the API server takes, and what takes GPUs is not started beside itself."""
    taking = {each.owner: amount(each, GPU) for each in pods(graph) if each.kind == "CronJob"}
    for each in graph.of_type("CronJob"):
        spec = spec_of(each)
        schedule, zone = str(spec.get("schedule") or ""), spec.get("timeZone")
        if schedule != UNKNOWN and "TZ=" not in schedule and (wrong := _wrong(schedule)):
            yield each.name, f"has the schedule {schedule!r}, {wrong}"
        if zone not in (None, UNKNOWN) and zone not in available_timezones():
            yield each.name, f"has the timeZone {zone!r}, which the API refuses"
        if (gpus := taking.get(each.name)) and spec.get("concurrencyPolicy", "Allow") == "Allow":
            yield each.name, f"takes {gpus} GPUs and starts again beside a pod of its own that has not ended"


def _wrong(schedule: str) -> str:
    """What is wrong with a schedule; nothing where the API server takes it and its time comes."""
    if schedule in MACROS or schedule.startswith("@every "):
        return ""
    fields = schedule.split()
    if len(fields) != len(FIELDS):
        return f"which the API refuses: {len(fields)} fields"
    for text, (name, low, high) in zip(fields, FIELDS, strict=True):
        for part in _WORDS.sub(str(low), text).split(","):
            found = _PART.fullmatch(part)
            numbers = [int(each) for each in found.groups()[:2] if each] if found else []
            if found is None or found[3] == "0" or not all(low <= each <= high for each in numbers):
                return f"which the API refuses: {part} is no {name}"
    day, month = fields[2], fields[3]
    if fields[4] == "*" and day.isdigit() and month.isdigit() and int(day) > monthrange(2024, int(month))[1]:
        return f"which never comes: month {month} has no day {day}"
    return ""


@rule(
    source="Volcano: https://volcano.sh/en/docs/queue/ (state Closed takes no PodGroup), "
    "pkg/webhooks/admission/queues/validate (weight must be a positive integer)",
    remedy="leave state out, and give the queue a weight of 1 or more",
)
def queues_are_open(graph: Graph) -> Iterator[Finding]:
    """A queue of Volcano takes jobs: it is not closed, and has a weight that its admission takes."""
    for each in graph.of_type("Queue"):
        if not each.token.startswith("kubernetes:scheduling.volcano.sh/"):
            continue
        spec: Mapping[str, Any] = spec_of(each)
        if spec.get("state") in ("Closed", "Closing"):
            yield each.name, f"is in state {spec['state']}: a gang in it never starts"
        weight = spec.get("weight", 1)
        if isinstance(weight, int | float) and weight < 1:
            yield each.name, f"has the weight {weight}, which Volcano's admission refuses"


ANSWERED = frozenset({"/health", "/ping", "/load", "/version", "/metrics", "/v1/models"})
"""What vLLM's server answers without a body (vllm/entrypoints/openai/api_server.py)."""


@rule(
    source="Kubernetes: readiness probes; https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-"
    "probes/; vLLM, vllm/entrypoints/openai/api_server.py (/health)",
    remedy="a readinessProbe of httpGet /health at the server's port",
)
def servers_say_when_they_are_ready(graph: Graph) -> Iterator[Finding]:
    """A model server gets requests only once it has its weights, and its probes ask for what it answers (IN04)."""
    for pod in pods(graph):
        for container in pod.spec.get("containers") or [] if pod.kind in APART else ():
            vllm = any("vllm" in str(each) for key in ("image", "command") for each in as_list(container.get(key)))
            if not (vllm and amount(pod, GPU) and (container.get("ports") or container.get("startupProbe"))):
                continue
            if not container.get("readinessProbe"):
                yield pod.owner, f"has no readinessProbe in {container.get('name')}: requests come while it loads"
            for name in ("readinessProbe", "livenessProbe", "startupProbe"):
                path = ((container.get(name) or {}).get("httpGet") or {}).get("path")
                if path not in (None, UNKNOWN) and str(path) not in ANSWERED:
                    yield pod.owner, f"asks for {path} in its {name}, which vLLM answers with 404"


@rule(
    source="Kubernetes: autoscaling/v2 validation (a Pods metric has an AverageValue above 0); HPAScalingRules: "
    "selectPolicy Disabled",
    remedy="target: {type: AverageValue, averageValue: '5'}, and no Disabled in behavior.scaleUp",
)
def autoscalers_may_raise(graph: Graph) -> Iterator[Finding]:
    """An autoscaler's targets are values that the API takes, and it may raise the replicas (IN06)."""
    for each in graph.of_type("HorizontalPodAutoscaler"):
        spec = spec_of(each)
        if ((spec.get("behavior") or {}).get("scaleUp") or {}).get("selectPolicy") == "Disabled":
            yield each.name, "may not raise the replicas (behavior.scaleUp.selectPolicy Disabled)"
        for metric in spec.get("metrics") or []:
            target = (metric.get("pods") or {}).get("target") or {}
            if metric.get("type") == "Pods" and target:
                if target.get("type") != "AverageValue":
                    yield each.name, f"has a Pods metric with a target of type {target.get('type')}, which is refused"
                elif not re.search("[1-9]", str(target.get("averageValue") or "")):
                    yield each.name, f"has a Pods metric with the target {target.get('averageValue')}, which is refused"
