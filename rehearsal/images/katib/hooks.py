"""What Katib's webhooks answer: defaults of Experiments, what is wrong with them, the collector beside a trial."""

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from rehearsal.images.katib.objects import API, EXPERIMENT_LABEL, TRIAL_LABEL, Object, name_of

PLACEHOLDER = re.compile(r"\$\{trialParameters\..+?\}")
COLLECTOR = "metrics-logger-and-collector"
LOG = "/var/log/katib/metrics.log"
_NAME = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
_TWO_GROUPS = re.compile(r".*\(.*\).*\(.*\).*")
_LISTS, _RANGES = ("categorical", "discrete"), ("double", "int")

Find = Callable[[str, str, str], Mapping[str, Any] | None]
"""An object by apiVersion, kind and name, in the namespace of the pod."""


def with_defaults(experiment: Mapping[str, Any]) -> Object:
    """experiments/v1beta1/experiment_defaults.go, for trials that are PyTorchJobs or Jobs. Pure."""
    filled = deepcopy(dict(experiment))
    spec = filled["spec"]
    spec.setdefault("parallelTrialCount", 3)
    spec.setdefault("resumePolicy", "Never")
    objective = spec.get("objective") or {}
    strategies = objective.setdefault("metricStrategies", [])
    named = {each["name"] for each in strategies}
    way = {"minimize": "min", "maximize": "max"}.get(objective.get("type") or "", "latest")
    for metric in (objective.get("objectiveMetricName"), *(objective.get("additionalMetricNames") or ())):
        if metric and metric not in named:
            strategies.append({"name": metric, "value": way})
    template = spec.get("trialTemplate") or {}
    done = "Complete" if (template.get("trialSpec") or {}).get("kind") == "Job" else "Succeeded"
    template.setdefault("successCondition", f'status.conditions.#(type=="{done}")#|#(status=="True")#')
    template.setdefault("failureCondition", 'status.conditions.#(type=="Failed")#|#(status=="True")#')
    if done == "Succeeded":
        template.setdefault("primaryPodLabels", {"training.kubeflow.org/job-role": "master"})
    spec.setdefault("metricsCollectorSpec", {}).setdefault("collector", {"kind": "StdOut"})
    for parameter in spec.get("parameters") or ():
        parameter["feasibleSpace"].setdefault("distribution", "uniform")
    return filled


def wrong_with(experiment: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """webhook/v1beta1/experiment/validator/validator.go: a sentence for each thing. Pure."""
    spec = experiment["spec"]
    return [*_counts(experiment), *_parts(spec, config["runtime"]), *_parameters(spec), *_template(spec)]


def _counts(experiment: Mapping[str, Any]) -> Iterator[str]:
    name, spec = name_of(experiment), experiment["spec"]
    if not _NAME.match(name) or len(name) > 40:
        yield f'metadata.name: Invalid value: "{name}": name must start with a letter and be of 40 characters at most'
    most, parallel, failed = (spec.get(each) for each in ("maxTrialCount", "parallelTrialCount", "maxFailedTrialCount"))
    for key, value in (("maxTrialCount", most), ("parallelTrialCount", parallel)):
        if value is not None and value <= 0:
            yield f"spec.{key}: Invalid value: {value}: must be greater than 0"
    for key, value in (("maxFailedTrialCount", failed), ("parallelTrialCount", parallel)):
        if None not in (value, most) and value > most:
            yield f"spec.{key}: Invalid value: {value}: should be less than or equal to spec.maxTrialCount"


def _parts(spec: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[str]:
    """The objective, and whether katib-config knows algorithm, early stopping and collector."""
    objective = spec.get("objective") or {}
    if objective.get("type") not in ("minimize", "maximize"):
        yield "spec.objective.type: Invalid value: must be minimize or maximize"
    if not objective.get("objectiveMetricName"):
        yield "spec.objective.objectiveMetricName: Required value: must be specified"
    asked = (
        ("suggestions", "algorithmName", (spec.get("algorithm") or {}).get("algorithmName"), "algorithm"),
        ("earlyStoppings", "algorithmName", (spec.get("earlyStopping") or {}).get("algorithmName"), "earlyStopping"),
        ("metricsCollectors", "kind", spec["metricsCollectorSpec"]["collector"]["kind"], "metricsCollectorSpec"),
    )
    for section, key, wanted, path in asked:
        if wanted is None and path == "earlyStopping":
            continue
        if wanted not in [each[key] for each in runtime.get(section) or ()]:
            yield f"spec.{path}: Invalid value: {wanted}: failed to find it in ConfigMap: katib-config"
    for each in ((spec["metricsCollectorSpec"].get("source") or {}).get("filter") or {}).get("metricsFormat") or ():
        if not _TWO_GROUPS.match(each):
            yield f"spec.metricsCollectorSpec.source.filter: Invalid value: {each}: must have two sub expressions"


def _parameters(spec: Mapping[str, Any]) -> Iterator[str]:
    if not spec.get("parameters"):
        yield "spec: Required value: spec.parameters or spec.nasConfig must be specified"
    for index, each in enumerate(spec.get("parameters") or ()):
        kind, space, where = each.get("parameterType"), each.get("feasibleSpace") or {}, f"spec.parameters[{index}]"
        if kind not in (*_LISTS, *_RANGES):
            yield f"{where}.parameterType: Invalid value: {kind} is not supported"
        if kind in _RANGES and (space.get("list") or not (space.get("min") and space.get("max"))):
            yield f"{where}.feasibleSpace: Required value: max and min, and no list, for parameterType: {kind}"
        if kind in _LISTS and (not space.get("list") or {"min", "max", "step"} & set(space)):
            yield f"{where}.feasibleSpace: Invalid value: a list, and no range, for parameterType: {kind}"


def _template(spec: Mapping[str, Any]) -> Iterator[str]:
    template = spec.get("trialTemplate") or {}
    if not template.get("primaryContainerName"):
        yield "spec.trialTemplate.primaryContainerName: Required value: must be specified"
    trial = template.get("trialSpec") or {}
    if not (trial.get("apiVersion") and trial.get("kind")):
        yield "spec.trialTemplate: Required value: APIVersion and Kind must be specified"
    if {"name", "namespace"} & set(trial.get("metadata") or {}):
        yield "spec.trialTemplate: Invalid value: metadata.name and metadata.namespace must be omitted"
    text, known = json.dumps(trial), {each["name"] for each in spec.get("parameters") or ()}
    for each in template.get("trialParameters") or ():
        holder = f"${{trialParameters.{each['name']}}}"
        if not each["reference"].startswith("${trialSpec.") and each["reference"] not in known:
            yield f"spec.trialTemplate.trialParameters: {each['reference']} does not exist in spec.parameters"
        if holder not in text:
            yield f"spec.trialTemplate.trialParameters: parameter name: {each['name']} not found in spec.trialTemplate"
        text = text.replace(holder, "test-value")
    if left := PLACEHOLDER.findall(text):
        yield f"spec.trialTemplate: parameters: {left} not found in spec.trialParameters"


def trial_of(pod: Mapping[str, Any], find: Find) -> Mapping[str, Any] | None:
    """The Trial that made the pod, through the owners of its owners (pod/inject_webhook.go, getKatibJob)."""
    for owner in pod["metadata"].get("ownerReferences") or ():
        if (owner["apiVersion"], owner["kind"]) == (API, "Trial"):
            return find(API, "Trial", str(pod["metadata"]["name"]))
        above = find(owner["apiVersion"], owner["kind"], owner["name"])
        if above is not None and (found := trial_of(above, find)) is not None:
            return found
    return None


def with_collector(
    pod: Mapping[str, Any], trial: Mapping[str, Any], config: Mapping[str, Any], database: str, stopping: str
) -> Object:
    """pod/inject_webhook.go, Mutate: labels and name for each pod; beside the primary one the collector, its log in a
    volume that both see, and their processes in one namespace. `stopping` is where early stopping is asked. Pure.
    """
    made = deepcopy(dict(pod))
    spec, wanted = made["spec"], trial["spec"]
    labels = made["metadata"].setdefault("labels", {})
    labels |= {**(trial["metadata"].get("labels") or {}), TRIAL_LABEL: name_of(trial)}
    main = next((each for each in spec["containers"] if each["name"] == wanted["primaryContainerName"]), None)
    if main is not None:
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{TRIAL_LABEL}']"}}
        main.setdefault("env", []).append({"name": "KATIB_TRIAL_NAME", "valueFrom": source})
    if not (wanted.get("primaryPodLabels") or {}).items() <= labels.items():
        return made
    if main is None:
        raise ValueError(f"unable to find primary container {wanted['primaryContainerName']} in mutated pod containers")
    told = next(each for each in config["runtime"]["metricsCollectors"] if each["kind"] == "StdOut")
    collector: Object = {"name": COLLECTOR, "image": told["image"], "args": _arguments(trial, database, stopping)}
    collector |= {"resources": told["resources"]} if told.get("resources") else {}
    first = spec["containers"][0].get("securityContext")
    if config["init"]["controller"].get("injectSecurityContext") and first:
        collector["securityContext"] = deepcopy(first)
    spec["containers"].append(collector)
    spec["shareProcessNamespace"] = True
    for each in (main, collector):
        each.setdefault("volumeMounts", []).append({"name": "metrics-volume", "mountPath": posixpath.dirname(LOG)})
    spec.setdefault("volumes", []).append({"name": "metrics-volume", "emptyDir": {}})
    _wrap(main, bool(wanted.get("earlyStoppingRules")))
    return made


def _arguments(trial: Mapping[str, Any], database: str, stopping: str) -> list[str]:
    spec = trial["spec"]
    objective, rules = spec["objective"], spec.get("earlyStoppingRules") or []
    metrics = ";".join([objective["objectiveMetricName"], *(objective.get("additionalMetricNames") or ())])
    words = ["-t", name_of(trial), "-m", metrics, "-o-type", objective["type"], "-s-db", database, "-path", LOG]
    formats = ((spec["metricsCollector"].get("source") or {}).get("filter") or {}).get("metricsFormat") or []
    words += ["-f", ";".join(formats)] if formats else []
    words += ["-format", "TEXT"]
    for rule in rules:
        words += ["-stop-rule", f"{rule['name']};{rule['value']};{rule['comparison']};{rule.get('startStep', 0)}"]
    return [*words, "-s-earlystop", stopping] if rules else words


def _wrap(main: Object, stops: bool) -> None:
    """pod/utils.go, wrapWorkerContainer: command and args become one line of a shell, joined by blanks."""
    words = [*(main.get("command") or ()), *(main.get("args") or ())]
    command = ["sh", "-c"]
    if words[:2] in (["sh", "-c"], ["bash", "-c"]):
        command, words = words[:2], words[2:]
    words.append(f"1>{LOG} 2>&1")
    where = posixpath.dirname(LOG)
    if stops:
        words += [
            "||",
            f"if test -f {where}/$$$$.pid && [ $(head -n 1 {where}/$$.pid) = early-stopped ]; then "
            "echo Training Container was Early Stopped; else echo Training Container was Failed; exit 1; fi",
        ]
    words += ["&&", f"echo completed > {where}/$$$$.pid"]
    main["command"], main["args"] = command, [" ".join(words)]


def labels_of_trial(experiment: Mapping[str, Any]) -> dict[str, str]:
    """Labels of an experiment's trials (pkg/controller.v1beta1/util/labels.go)."""
    return {**(experiment["metadata"].get("labels") or {}), EXPERIMENT_LABEL: name_of(experiment)}
