"""Rules about what changes and what stays: jobs that nobody updates in place, and those that end themselves."""

from collections.abc import Iterator

from policy.gangs import spec_of
from policy.graph import Graph
from policy.rule import Finding, rule
from policy.training import jobs


@rule(
    source="training-operator v1.9: pkg/controller.v1/common/pod.go (ReconcilePods makes missing pods, and compares no "
    "template): pods of a running job keep what they were made with",
    remedy="replace_on_changes=['spec'], so that a changed run starts anew, from its checkpoint",
)
def changed_runs_start_anew(graph: Graph) -> Iterator[Finding]:
    """A run whose pods change is replaced: its operator changes none of those that there are."""
    for each in jobs(graph):
        if not any(path.split(".")[0].split("[")[0] in ("spec", "*") for path in each.replace_on_changes):
            yield each.name, f"is a {each.kind} that is updated in place, which leaves its pods as they are"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/; Pulumi: refresh "
    "takes what is gone out of the state, and the next up makes it again",
    remedy="leave ttlSecondsAfterFinished out of a Job that the program registers; replacement and destroy remove it",
)
def registered_jobs_stay(graph: Graph) -> Iterator[Finding]:
    """A Job of the program is there until the program takes it away: one that ends itself runs again."""
    for each in graph.of_type("kubernetes:batch/v1:Job"):
        if spec_of(each).get("ttlSecondsAfterFinished") is not None:
            seconds = spec_of(each)["ttlSecondsAfterFinished"]
            yield each.name, f"is deleted {seconds} s after it has ended, and done again after the next refresh"
