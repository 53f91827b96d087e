"""The services that choose values (pkg/suggestion/v1beta1) and end trials early (pkg/earlystopping/v1beta1/medianstop).

Values are spread evenly: the number of a trial, its digits turned about the point (van der Corput), says how far along
each range it is. A grid takes its points in turn.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.images.katib.asking import Method, call, methods
from rehearsal.images.katib.objects import API, marked
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import TIME_SCALE, Launch, Program

PORT, STOPPING_PORT = 6789, 6788
STARTS = 5.0
KNOWS = {
    "suggestion-hyperopt": ("random", "tpe"),
    "suggestion-optuna": ("tpe", "multivariate-tpe", "cmaes", "random", "grid"),
    "suggestion-goptuna": ("cmaes", "random", "tpe", "sobol"),
    "suggestion-hyperband": ("hyperband",),
    "suggestion-skopt": ("bayesianoptimization",),
}
"""Algorithms of each image: what its service does not refuse as an unknown algorithm name."""
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)

Parameters = Sequence[Mapping[str, Any]]


def suggestion(launch: Launch) -> Program:
    """The service of an algorithm."""
    image = str(launch.spec["image"]).rpartition("/")[2].partition(":")[0]
    known: dict[str, Method] = {
        "ValidateAlgorithmSettings": lambda asked: _validated(asked, KNOWS.get(image, ())),
        "GetSuggestions": lambda asked: {"assignments": suggestions(asked)},
    }
    return Answering(launch, {PORT: methods(known)}, launch.now + STARTS / TIME_SCALE)


def _validated(asked: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    spec = asked["spec"]
    name = spec["algorithm"]["algorithmName"]
    if name not in known:
        raise ValueError(f"unknown algorithm name {name}")
    settings = {each["name"]: each["value"] for each in spec["algorithm"].get("algorithmSettings") or ()}
    if said := wrong_with(name, settings, spec):
        raise ValueError(said)
    return {}


def wrong_with(name: str, settings: Mapping[str, str], spec: Mapping[str, Any]) -> str | None:
    """What a service refuses: goptuna/service.go, optuna/service.py, hyperband/service.py. Pure."""
    parameters: Parameters = spec["parameters"]
    ranges = [each for each in parameters if each["parameterType"] in ("double", "int")]
    if name == "cmaes" and len(ranges) < 2:
        return "CMA-ES only supports two or more dimensional continuous search space."
    if name == "grid" and spec["maxTrialCount"] > (points := math.prod(len(grid(each)) for each in parameters)):
        return f"Max Trial Count: {spec['maxTrialCount']} > all possible search combinations: {points}"
    if name == "hyperband":
        return _hyperband(settings, parameters, int(spec["parallelTrialCount"]))
    return None


def _hyperband(settings: Mapping[str, str], parameters: Parameters, parallel: int) -> str | None:
    if not {"r_l", "resource_name"} <= set(settings):
        return "r_l and resource_name must be set."
    eta = int(float(settings.get("eta", 3)))
    least = math.ceil(eta ** int(math.log(float(settings["r_l"])) / math.log(eta)))
    if parallel < least:
        return f"parallelTrialCount must be not less than {least}."
    if settings["resource_name"] not in [each["name"] for each in parameters]:
        return "value of resource_name setting must be in parameters."
    return None


def grid(parameter: Mapping[str, Any]) -> list[str]:
    """The points of a parameter (internal/search_space.py, convert_to_combinations). Pure."""
    space = parameter["feasibleSpace"]
    if listed := space.get("list"):
        return list(listed)
    if parameter["parameterType"] == "double" and not space.get("step"):
        raise ValueError(f"Param {parameter['name']} step is nil; all parameters must include step")
    low, high, step = float(space["min"]), float(space["max"]), float(space.get("step") or 1)
    values = [low + step * index for index in range(math.floor((high - low) / step + 1e-9) + 1)]
    return [str(int(each)) if parameter["parameterType"] == "int" else repr(each) for each in values]


def suggestions(asked: Mapping[str, Any]) -> list[list[dict[str, str]]]:
    """Values for so many trials after the first so many. Pure."""
    spec, first, count = asked["spec"], int(asked["made"]), int(asked["wanted"])
    parameters: Parameters = spec["parameters"]
    if spec["algorithm"]["algorithmName"] == "grid":
        points = list(itertools.product(*(grid(each) for each in parameters)))[first : first + count]
        return [[_assigned(each, value) for each, value in zip(parameters, point, strict=True)] for point in points]
    return [
        [_assigned(each, _along(each, turned(index + 1, base))) for each, base in zip(parameters, _BASES, strict=False)]
        for index in range(first, first + count)
    ]


def _assigned(parameter: Mapping[str, Any], value: str) -> dict[str, str]:
    return {"name": str(parameter["name"]), "value": value}


def turned(number: int, base: int) -> float:
    """The digits of a number turned about the point, between 0 and 1 (van der Corput). Pure."""
    result, part = 0.0, 1.0 / base
    while number:
        number, digit = divmod(number, base)
        result += digit * part
        part /= base
    return result


def _along(parameter: Mapping[str, Any], part: float) -> str:
    space = parameter["feasibleSpace"]
    if listed := space.get("list"):
        return str(listed[int(part * len(listed))])
    low, high = float(space["min"]), float(space["max"])
    value = low * (high / low) ** part if space.get("distribution") == "logUniform" else low + (high - low) * part
    if step := space.get("step"):
        value = low + float(step) * math.floor((value - low) / float(step))
    return str(round(value)) if parameter["parameterType"] == "int" else repr(value)


class Median(Answering):
    """Compares with the mean of the first values of trials that succeeded, which it calls the median."""

    def __init__(self, launch: Launch) -> None:
        self._means: dict[str, float] = {}
        self._kube = client(launch)
        known: dict[str, Method] = {"GetEarlyStoppingRules": self._rules, "SetTrialStatus": self._set}
        super().__init__(launch, {STOPPING_PORT: methods(known)}, launch.now + STARTS / TIME_SCALE)

    def _rules(self, asked: dict[str, Any]) -> dict[str, Any]:
        spec = asked["spec"]
        told = {each["name"]: int(each["value"]) for each in spec["earlyStopping"].get("algorithmSettings") or ()}
        objective, start = spec["objective"], told.get("start_step", 4)
        metric = objective["objectiveMetricName"]
        for trial in set(asked["succeeded"]) - set(self._means):
            message = {"trial": trial, "metric": metric}
            log = call(self._launch.world.proxy.url, asked["database"], "GetObservationLog", message)["log"]
            first = [float(value) for _, value in log[:start]]
            self._means[trial] = sum(first) / len(first)
        if len(self._means) < told.get("min_trials_required", 3):
            return {"rules": []}
        value = sum(self._means.values()) / len(self._means)
        comparison = "less" if objective["type"] == "maximize" else "greater"
        return {"rules": [{"name": metric, "value": str(value), "comparison": comparison, "startStep": start}]}

    def _set(self, asked: dict[str, Any]) -> dict[str, Any]:
        """With the rights of the pod's account (SetTrialStatus)."""
        where = (API, "Trial", asked["trial"], self._launch.namespace)
        trial = self._kube.get(API, "Trial", asked["trial"], self._launch.namespace) or {}
        status = marked(trial.get("status") or {}, "EarlyStopped", "TrialEarlyStopped", "Trial is early stopped")
        self._kube.patch(*where, {"status": {"conditions": status["conditions"]}}, "status")
        return {}

    def stop(self) -> None:
        self._kube.close()
        super().stop()
