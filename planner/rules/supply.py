"""Where images come from, and where charts do."""

from collections.abc import Iterable

from catalogue.chart_digests import ALL_CHARTS, digest_of
from catalogue.chart_images import CHART_IMAGES
from catalogue.images import is_pinned
from catalogue.versions import ADDONS
from planner.draft import AwsDraft, Draft, aws_warning, rule, warning
from planner.findings import Observation


@aws_warning(
    "J16",
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
            remedy="let nodes reach it, as by the endpoints ecr.api and ecr.dkr, and waive image-not-mirrored",
        )


@rule(
    "I03",
    by_name=True,
    formula="every chart's package has a digest on record, if lifecycle.protect",
    source="Helm documentation, Helm provenance and integrity: a repository may send another package of a version",
)
def chart_not_pinned(draft: Draft) -> Iterable[Observation]:
    """In production (lifecycle.protect) the content of every chart is on record, or somebody has said why not."""
    if not draft.settings.lifecycle.protect:
        return
    for name in draft.charts:
        if digest_of(ALL_CHARTS[name]) is None:
            yield Observation(
                path="lifecycle.protect",
                sentence=f"the stack is protected and nobody has recorded the digest of the chart {name} "
                f"{ALL_CHARTS[name].version}, so its content may change",
                remedy="run make pin-charts where its repository is in reach, or waive chart-not-pinned with the "
                "chart as subject",
                subject=name,
            )


@warning(
    "I03 Y10",
    formula="images of charts have digests, or come from supply.registry, if lifecycle.protect",
    source="Kubernetes documentation, images: a tag may name another content tomorrow; charts name theirs by tag",
)
def chart_images_not_pinned(draft: Draft) -> Iterable[Observation]:
    """In production what charts and their operators run is counted too: their makers may move each of those tags."""
    if not draft.settings.lifecycle.protect or draft.settings.supply.registry:
        return
    brought = [each for name in draft.charts for each in CHART_IMAGES.get(name, ()) if each.use != "named"]
    images = dict.fromkeys(each.image for each in brought)
    loose = [image for image in images if not is_pinned(image, draft.catalogue.digests)]
    if loose:
        yield Observation(
            path="supply.registry",
            sentence=f"{len(loose)} of {len(images)} images that charts bring have a tag and no digest, such as "
            f"{loose[0]}",
            remedy="copy what make images lists to a registry whose tags never move (ECR: IMMUTABLE), and set "
            "supply.registry to it",
            inputs={"images without a digest": str(len(loose))},
        )


@warning(
    "I03",
    formula="supply.charts is set, if lifecycle.protect",
    source="pulumi-kubernetes, provider/pkg/provider/helm_release.go: locateChart takes what the repository sends",
)
def charts_not_checked(draft: Draft) -> Iterable[Observation]:
    """In production charts are compared with those on record before anything is installed."""
    if draft.settings.lifecycle.protect and draft.settings.supply.charts is None and draft.charts:
        yield Observation(
            path="supply.charts",
            sentence="Helm fetches the charts by itself and compares them with nothing",
            remedy="type make charts, then set supply.charts to build/charts: the program compares each package with "
            "the one on record before it registers anything",
        )
