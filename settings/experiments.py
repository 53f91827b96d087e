"""Experiments: trials of a training run with other values of its parameters, until the best of them is known."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.secrets import TRIAL_DATABASE, SecretKey
from settings.sections import Path, Section, SectionError, repeated
from settings.types import BackupHours, Matching, Name

Scale = Literal["linear", "log"]
Algorithm = Literal["random", "grid", "tpe", "multivariate-tpe", "bayesianoptimization", "hyperband", "cmaes", "sobol"]
"""Katib's own words (v0.19, manifests/v1beta1/installs/katib-standalone/katib-config.yaml), without those for NAS."""

Flag = Annotated[str, Matching(r"[a-z][a-z0-9-]{0,39}", "the name of a flag without its dashes, such as learning-rate")]
Word = Annotated[
    str,
    Matching(
        r"[A-Za-z0-9_.][A-Za-z0-9_.:@+-]{0,62}", "a word of letters, digits and _ . : @ + -, none of them a shell's"
    ),
]
Metric = Annotated[str, Matching(r"[A-Za-z0-9_-]{1,63}", "a metric's name of letters, digits, _ and -")]
"""Katib's collector finds NAME=VALUE in a log, no names of other characters (pkg/metricscollector, common/const.go)."""


class FloatRange(Section):
    """Numbers from `min` to `max`; with `step` those that so many steps reach."""

    min: Annotated[float, Field(ge=-1e300, le=1e300)]
    max: Annotated[float, Field(ge=-1e300, le=1e300)]
    step: Annotated[float | None, Field(gt=0, le=1e300)] = None
    scale: Annotated[Scale, Field(description="log: values are spread evenly over orders of magnitude")] = "linear"

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if problems := _wrong_with(self.min, self.max, self.step, self.scale):
            raise SectionError(problems)
        return self


class IntRange(Section):
    """Whole numbers from `min` to `max`; with `step` those that so many steps reach."""

    min: Annotated[int, Field(ge=-(2**53), le=2**53)]
    max: Annotated[int, Field(ge=-(2**53), le=2**53)]
    step: Annotated[int | None, Field(ge=1, le=2**53)] = None
    scale: Scale = "linear"

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if problems := _wrong_with(self.min, self.max, self.step, self.scale):
            raise SectionError(problems)
        return self


def _wrong_with(low: float, high: float, step: float | None, scale: Scale) -> list[tuple[Path, str]]:
    problems: list[tuple[Path, str]] = []
    if high <= low:
        problems.append((("max",), f"is {high:g}, not above min {low:g}; swap them, or raise it"))
    elif step is not None and step > high - low:
        problems.append((("step",), f"is {step:g}, more than all of {low:g} to {high:g}; lower it"))
    if scale == "log" and low <= 0:
        problems.append((("min",), f"is {low:g}, and a log scale starts above 0; raise it"))
    return problems


class Parameter(Section):
    """A parameter that trials vary: passed as `--NAME=VALUE` after the run's arguments, with exactly one kind of
    values.
    """

    name: Annotated[Flag, Field(description="a flag of the run's script, without its dashes")]
    float_range: FloatRange | None = None
    int_range: IntRange | None = None
    numbers: Annotated[
        tuple[float, ...] | None, Field(min_length=2, max_length=100, description="one of these numbers")
    ] = None
    words: Annotated[tuple[Word, ...] | None, Field(min_length=2, max_length=100, description="one of these")] = None

    @model_validator(mode="after")
    def _has_one_kind_of_values(self) -> Self:
        kinds = {
            "floatRange": self.float_range,
            "intRange": self.int_range,
            "numbers": self.numbers,
            "words": self.words,
        }
        said = [kind for kind, value in kinds.items() if value is not None]
        if not said:
            raise SectionError([((), f"has no values; add one of {', '.join(kinds)}")])
        if len(said) > 1:
            raise SectionError([((said[1],), f"is set as well as {said[0]}; keep one of them")])
        listed = self.numbers or self.words or ()
        if twice := list(repeated(listed, "{} is listed twice; remove one", said[0])):
            raise SectionError(twice[:1])
        return self


class Objective(Section):
    """The metric to optimise. A trial that reaches `until` ends the experiment."""

    metric: Annotated[Metric, Field(description="as the script prints it, NAME=VALUE; framework reference prints loss")]
    best: Annotated[Literal["lowest", "highest"], Field(description="which value wins")] = "lowest"
    until: Annotated[
        float | None,
        Field(ge=-1e300, le=1e300, description="stop when a trial reaches this value; None = run all trials"),
    ] = None


class Search(Section):
    """The search algorithm. `resource` and `reduction` apply to Hyperband only."""

    name: Algorithm = "tpe"
    resource: Annotated[
        Flag | None, Field(description="the parameter that sets how long a trial trains, such as steps")
    ] = None
    reduction: Annotated[
        int, Field(ge=2, le=10, description="one in this many trials continues, for this many times as long")
    ] = 3

    @model_validator(mode="after")
    def _keys_of_hyperband(self) -> Self:
        if self.name == "hyperband" and self.resource is None:
            raise SectionError(
                [
                    (
                        ("resource",),
                        "is missing: hyperband needs to know which parameter sets the length of a trial; name one",
                    )
                ]
            )
        if self.name != "hyperband" and (said := {"resource", "reduction"} & self.model_fields_set):
            raise SectionError([((min(said),), f"applies to hyperband only, and name is {self.name}; remove it")])
        return self


class EarlyStopping(Section):
    """Stops trials that are worse than the others were at that point, once `after_trials` have succeeded. It
    compares each trial's average over the first `after_reports` values of the metric.
    """

    after_trials: Annotated[int, Field(ge=1, le=1000)] = 3
    after_reports: Annotated[int, Field(ge=1, le=100_000)] = 4


class Trials(Section):
    """Numbers of trials: in parallel, in total, and failed before the experiment fails."""

    parallel: Annotated[int, Field(ge=1, le=1000)] = 1
    most: Annotated[int, Field(ge=1, le=10_000)]
    failed: Annotated[int, Field(ge=1, le=10_000)] = 3

    @model_validator(mode="after")
    def _are_parts_of_the_most(self) -> Self:
        lowered = [
            ((name,), f"is {value}, above most {self.most}; lower it")
            for name, value in (("parallel", self.parallel), ("failed", self.failed))
            if value > self.most and name in self.model_fields_set
        ]
        if lowered:
            raise SectionError(lowered)
        return self


ExperimentName = Annotated[Name, Field(max_length=40)]
"""Katib refuses a longer one (pkg/webhook/v1beta1/experiment/validator/validator.go)."""


class Experiment(Section):
    """Trials of `run` with other parameters. Each is a gang that runs of priority training may preempt."""

    name: ExperimentName
    run: Annotated[Name, Field(description="the run of training.runs that trials are copies of")]
    nodes: Annotated[
        int | None, Field(ge=1, le=4096, description="nodes of a trial; None = as many as the run has")
    ] = None
    team: Annotated[
        Name | None, Field(description="the team whose people see it; trials go into its queue. None = nobody's")
    ] = None
    queue: Annotated[Name, Field(description="a queue that is reclaimable; with team, the team's")] = "experiments"
    tokens_billion: Annotated[
        float | None, Field(gt=0, le=1_000_000, description="tokens of a trial in 10^9; None = as the run")
    ] = None
    trial_hours: Annotated[
        float | None, Field(gt=0, le=8760, description="hours of a trial, if the planner cannot compute them")
    ] = None
    objective: Objective
    parameters: Annotated[tuple[Parameter, ...], Field(min_length=1, max_length=20)]
    algorithm: Search = Field(default_factory=Search)
    early_stopping: Annotated[EarlyStopping | None, Field(description="None = no early stopping")] = None
    trials: Trials
    budget_gpu_hours: Annotated[float, Field(gt=0, le=100_000_000, description="budget of all trials together")]

    @model_validator(mode="after")
    def _parameters_have_names_of_their_own(self) -> Self:
        names = [each.name for each in self.parameters]
        if twice := list(repeated(names, "{} is listed twice; keep one", "parameters", key="name")):
            raise SectionError(twice)
        return self


class TrialDatabase(Section):
    """Database of trial metrics: PostgreSQL on a volume of the cluster."""

    secret: Annotated[SecretKey, Field(description="the secret of this file that holds its password")] = TRIAL_DATABASE
    gib: Annotated[int, Field(ge=1, le=16_384)] = 10
    backup_hours: BackupHours = 24
