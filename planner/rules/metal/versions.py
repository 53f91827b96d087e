"""The Kubernetes version."""

from collections.abc import Iterable

from catalogue.versions import END_OF_LIFE, KUBERNETES
from planner.draft import MetalDraft, metal_rule
from planner.findings import Observation


@metal_rule(
    "KJ30 I03",
    formula="today <= end of life of kubernetesVersion",
    source="kubernetes.io, Releases: patch releases and end of life of each minor",
)
def kubernetes_ended(draft: MetalDraft) -> Iterable[Observation]:
    """The cluster's minor still gets patches: on premises nobody upgrades it by force."""
    minor, oldest = draft.settings.platform.kubernetes_version, min(END_OF_LIFE)
    ended = END_OF_LIFE.get(minor)
    if minor < oldest or (ended and ended < draft.today):
        when = ended.isoformat() if ended else f"before that of {oldest}, {END_OF_LIFE[oldest].isoformat()}"
        yield Observation(
            path="platform.kubernetesVersion",
            sentence=f"patches of Kubernetes {minor} ended: {when}",
            remedy=f"take {max(KUBERNETES)}",
            inputs={"version": minor, "end of life": when, "today": draft.today.isoformat()},
        )
