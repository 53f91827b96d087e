"""Kubernetes versions and images."""

from collections.abc import Iterable

from catalogue.images import is_pinned
from catalogue.versions import KUBERNETES, STANDARD_SUPPORT_ENDS
from planner.draft import AwsDraft, Draft, aws_rule, aws_warning, rule
from planner.findings import Observation
from planner.rules.known import followed, workloads
from planner.signatures import images_of
from planner.wording import one_of


@aws_rule(
    "KJ30 I03",
    formula="kubernetesVersion in the versions with a recorded AMI release",
    source="Releases of awslabs/amazon-eks-ami; EKS user guide, Kubernetes version lifecycle",
)
def kubernetes_unsupported(draft: AwsDraft) -> Iterable[Observation]:
    """The cluster's minor has a recorded AMI release, so that its nodes are reproducible."""
    minor = draft.settings.platform.kubernetes_version
    if minor not in KUBERNETES:
        ended = STANDARD_SUPPORT_ENDS.get(minor)
        past = f", and EKS ended its standard support on {ended}" if ended and ended < draft.today else ""
        yield Observation(
            path="platform.kubernetesVersion",
            sentence=f"no AMI release is recorded for {minor}{past}",
            remedy=f"take {one_of(KUBERNETES)}",
            inputs={"version": minor, "recorded": ", ".join(KUBERNETES)},
        )


@aws_warning(
    "KJ30",
    formula="today <= end of standard support",
    source="EKS user guide, Kubernetes version lifecycle; EKS price page",
)
def kubernetes_extended_support(draft: AwsDraft) -> Iterable[Observation]:
    """A minor beyond standard support costs six times as much and is upgraded by force in the end."""
    minor = draft.settings.platform.kubernetes_version
    ended = STANDARD_SUPPORT_ENDS.get(minor)
    if minor in KUBERNETES and ended and ended < draft.today:
        yield Observation(
            path="platform.kubernetesVersion",
            sentence=f"EKS ended standard support of {minor} on {ended}",
            remedy=f"move to {max(KUBERNETES)}",
            inputs={"standard support ends": ended.isoformat(), "today": draft.today.isoformat()},
        )


@rule(
    "I03 IN01",
    by_name=True,
    formula="every image has a digest, if lifecycle.protect",
    source="Kubernetes documentation, images: a digest always names the same content",
)
def image_not_pinned(draft: Draft) -> Iterable[Observation]:
    """In production (lifecycle.protect) every image has a digest, or somebody has said why not."""
    if not draft.settings.lifecycle.protect:
        return
    users = ((f"{path}.image", user.image) for path, user in workloads(draft))
    servers = (
        (f"serving.triton[{index}].image", each.image) for index, each in enumerate(draft.settings.serving.triton)
    )
    own = images_of(draft.settings.training, draft.settings.serving)
    platform = (("lifecycle.protect", image) for image in own)
    for path, image in (*users, *followed(draft), *servers, *platform):
        if not is_pinned(image, draft.catalogue.digests):
            yield Observation(
                path=path,
                sentence=f"the stack is protected and {image} has no digest, so its content may change",
                remedy="run make pin-images, or waive image-not-pinned with the image as subject",
                subject=image,
            )
