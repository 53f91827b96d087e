"""Kubeflow Pipelines of teams, where a site's object store knows one key."""

from collections.abc import Iterator

from planner.draft import MetalDraft, metal_rule
from planner.findings import Observation


@metal_rule(
    "R07 Y02",
    formula="training.pipelines.teams is empty",
    source="components/metal/object_store.py: a store of a site is asked with one key, as a Secret of each namespace; "
    "Kubeflow Pipelines 2.17, backend/src/v2/config/s3.go: driver and launcher of a step read it",
)
def team_pipelines_store(draft: MetalDraft) -> Iterator[Observation]:
    """Steps keep their files in the object store: with the site's one key, a team's could read everybody's."""
    pipelines = draft.settings.training.pipelines
    if pipelines is not None and pipelines.teams:
        yield Observation(
            path="training.pipelines.teams",
            sentence=f"steps of {', '.join(pipelines.teams)} would have the key of the site's object store, which "
            "knows no other, and with it the files of all teams and runs",
            remedy="remove it, or give each team a stack and a bucket of its own",
        )
