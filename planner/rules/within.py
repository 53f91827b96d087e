"""Runs that must stay below one switch: what can place them there, and when they would never start."""

from collections.abc import Iterable

from planner.draft import Draft, MetalDraft, rule
from planner.fabric.near import machines, most_within
from planner.findings import Observation
from planner.rules.known import runs
from settings.workloads import TrainingRun


@rule(
    "M02",
    each=runs,
    formula="within: on-premises racks, api v2, and a switch with as many nodes of the pool",
    source="kubeflow/training-operator v1.9.3, pkg/controller.v1/common/job.go; kubeflow/trainer v2.3, "
    "VolcanoPodGroupPolicySource; volcano v1.14.1, pkg/scheduler/plugins/network-topology-aware",
)
def within_cannot(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """A run stays below a switch where its group can say so to Volcano, and the plan knows such a switch for it."""
    if run.within is None:
        return
    sentence, remedy = "", "remove it"
    pool = draft.pools.get(run.pool)
    if not isinstance(draft, MetalDraft):
        sentence = f"is {run.within}, and the plan of this platform knows no switches"
    elif run.api != "v2":
        sentence = "is said to groups of api v2; those of other runs cannot carry it, and only prefer near nodes"
        remedy = "set api to v2, or remove it"
    elif pool is not None and draft.above:
        here = [name for name in machines(draft.site, draft.pools[run.pool]) if name in draft.above]
        most = most_within(draft.above, here, run.within)
        if run.nodes > most:
            sentence = f"is {run.within}, the run has {run.nodes} nodes, and no {run.within} has more than {most}"
            remedy = f"lower nodes to {most}, choose a switch further up, or remove it"
    if sentence:
        yield Observation(path="within", sentence=sentence, remedy=remedy)
