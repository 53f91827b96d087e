"""Where images come from, and where charts do."""

from collections.abc import Iterable

from catalogue.versions import ADDONS
from planner.draft import AwsDraft, aws_rule
from planner.findings import Observation, Severity


@aws_rule(
    "image-not-mirrored",
    "J16",
    severity=Severity.WARNING,
    formula="every image is pulled from supply.registry, if there is one",
    source="EKS user guide, View Amazon container image registries for Amazon EKS add-ons",
)
def image_not_mirrored(draft: AwsDraft) -> Iterable[Observation]:
    """Images that no value of the program moves to the mirror are named: EKS installs its add-ons by itself."""
    if draft.settings.supply.registry:
        yield Observation(
            path="supply.registry",
            sentence=f"EKS pulls the images of its add-ons ({', '.join(sorted(ADDONS))}) from its own registry in "
            f"{draft.settings.platform.region}, whatever the mirror is",
            remedy="let nodes reach that registry, as by the endpoints ecr.api and ecr.dkr, and waive image-not-mirrored",
        )
