"""Experiments: whether an algorithm can take the parameters."""

from collections.abc import Iterator
from math import floor, log, prod

from planner.draft import Draft, rule
from planner.experiments import ParameterPlan
from planner.findings import Observation
from planner.rules.experiments import Seen, experiments

_SERVICES = "Katib 0.19, pkg/suggestion/v1beta1"
_SCALES = ("random", "tpe", "multivariate-tpe")
"""Algorithms whose service reads a parameter's distribution: hyperopt/base_service.py, optuna/base_service.py."""


@rule(
    "R02 R05",
    each=experiments,
    formula="cmaes: two ranges at least; grid: steps, and most <= combinations; hyperband: parallel >= "
    "reduction ^ rounds, least <= most / reduction ^ rounds of the resource, rounds = floor(log(most) / "
    "log(reduction)), and no decimal numbers in lists; scale log: random and TPE only",
    source=f"{_SERVICES}: goptuna/service.go, optuna/service.py, hyperband/service.py, skopt/base_service.py",
)
def trial_algorithm(_: Draft, seen: Seen) -> Iterator[Observation]:
    """The algorithm can take the parameters: Katib finds out when the first trial is due, and fails the experiment."""
    look = {"cmaes": _cmaes, "grid": _grid, "hyperband": _hyperband}.get(seen.plan.algorithm, _nothing)
    yield from look(seen)
    yield from _scales(seen)


def _nothing(seen: Seen) -> Iterator[Observation]:  # noqa: ARG001 - the others look at it
    return iter(())


def _cmaes(seen: Seen) -> Iterator[Observation]:
    ranges = [each for each in seen.plan.parameters if each.low is not None]
    lists = [index for index, each in enumerate(seen.plan.parameters) if each.low is None]
    if len(ranges) < 2:
        yield Observation(
            path="algorithm.name",
            sentence=f"cmaes needs two parameters with ranges of numbers, and the experiment has {len(ranges)}",
            remedy="add a floatRange or intRange, or take tpe",
            inputs={"ranges": str(len(ranges))},
        )
    elif lists:
        yield Observation(
            path=f"parameters[{lists[0]}]",
            sentence="cmaes models numbers of ranges, and takes this parameter's values at random",
            remedy="make it a range, or take tpe, which learns of lists too",
            inputs={"lists": str(len(lists)), "ranges": str(len(ranges))},
        )


def _grid(seen: Seen) -> Iterator[Observation]:
    steps = [_steps(each) for each in seen.plan.parameters]
    for index, count in enumerate(steps):
        if count is None:
            yield Observation(
                path=f"parameters[{index}].floatRange.step",
                sentence="is missing: a grid has points, and a range of decimal numbers has none without it",
                remedy="add it, or take random",
                inputs={"trials": str(seen.plan.most)},
            )
    known = [each for each in steps if each is not None]
    if len(known) == len(steps) and seen.plan.most > prod(known):
        yield Observation(
            path="trials.most",
            sentence=f"is {seen.plan.most}, and the grid has {prod(known)} points",
            remedy=f"set it to {prod(known)} at most",
            inputs={"trials": str(seen.plan.most), "points": str(prod(known))},
        )


def _steps(parameter: ParameterPlan) -> int | None:
    """How many values the grid takes of a parameter; None for a range of decimal numbers without a step."""
    if parameter.low is None or parameter.high is None:
        return len(parameter.listed)
    if parameter.step is None and parameter.kind == "double":
        return None
    return floor((float(parameter.high) - float(parameter.low)) / float(parameter.step or 1) + 1e-9) + 1


def _hyperband(seen: Seen) -> Iterator[Observation]:
    told = dict(seen.plan.settings)
    if not told:
        names = [each.name for each in seen.plan.parameters if each.kind == "int"]
        yield Observation(
            path="algorithm.resource",
            sentence=f"no parameter {seen.said.algorithm.resource} has an intRange, whose upper end is what a full "
            "trial gets",
            remedy=f"take {' or '.join(names)}" if names else "add a parameter such as steps with an intRange",
            inputs={"parallel": str(seen.plan.parallel)},
        )
        return
    eta, most = int(told["eta"]), float(told["r_l"])
    rounds = int(log(most) / log(eta)) if most >= 1 else 0
    least = eta**rounds
    if seen.plan.parallel < least:
        yield Observation(
            path="trials.parallel",
            sentence=f"is {seen.plan.parallel}, and hyperband begins with {least} trials at once: {eta} ^ "
            f"floor(log {most:g} / log {eta})",
            remedy=f"raise it to {least}, or lower the most of {told['resource_name']}",
            inputs={"parallel": str(seen.plan.parallel), "at least": str(least)},
        )
    yield from _hyperband_ranges(seen, told["resource_name"], int(most * float(eta) ** -rounds))


def _hyperband_ranges(seen: Seen, resource: str, first: int) -> Iterator[Observation]:
    """Its first trials take `first` of the resource, whatever the range begins with, and of a list it reads integers
    (hyperband/parsing_util.py).
    """
    for index, each in enumerate(seen.plan.parameters):
        if each.name == resource and each.low is not None and float(each.low) > first:
            yield Observation(
                path=f"parameters[{index}].intRange.min",
                sentence=f"is {each.low}, and hyperband gives its first trials {first}: max / reduction ^ "
                "floor(log max / log reduction)",
                remedy=f"set it to {first}" if first else "raise max by 1: a power of reduction is rounded to less",
                inputs={"least": each.low, "first": str(first)},
            )
        elif each.kind == "discrete" and not all(number.lstrip("-").isdigit() for number in each.listed):
            yield Observation(
                path=f"parameters[{index}].numbers",
                sentence="holds decimal numbers, and hyperband reads integers only",
                remedy="give a floatRange, or words",
                inputs={"numbers": ", ".join(each.listed)},
            )


def _scales(seen: Seen) -> Iterator[Observation]:
    for index, parameter in enumerate(seen.plan.parameters):
        if parameter.log and seen.plan.algorithm not in _SCALES:
            kind = "floatRange" if parameter.kind == "double" else "intRange"
            yield Observation(
                path=f"parameters[{index}].{kind}.scale",
                sentence=f"is log, and {seen.plan.algorithm} ignores it: nearly all trials would be near the top",
                remedy=f"take {', '.join(_SCALES)}, or list numbers",
                inputs={"least": str(parameter.low), "most": str(parameter.high)},
            )
