"""Signed images: what admission would refuse, and what it could not ask."""

from collections.abc import Iterable

from catalogue.images import is_pinned
from planner.draft import AwsDraft, Draft, aws_rule, rule
from planner.findings import Observation
from planner.signatures import images_in, signable

_KYVERNO = "Kyverno 1.19.1"


@rule(
    "Y09",
    formula="each of supply.signatures.namespaces is one whose images this stack file names",
    source=f"{_KYVERNO}, ImageValidatingPolicy: every image of a pod that is matched has to be verified",
)
def signed_namespace(draft: Draft) -> Iterable[Observation]:
    """Pods of charts and of EKS have images that nobody here signs: their namespaces would be empty for good."""
    wanted = draft.settings.supply.signatures
    known = signable(draft.settings)
    for index, name in enumerate(wanted.namespaces if wanted else ()):
        if name not in known:
            yield Observation(
                path=f"supply.signatures.namespaces[{index}]",
                sentence=f"{name} is no namespace whose images this stack file names",
                remedy=f"take some of {', '.join(known)}; those of charts are checked by supply.charts instead",
                subject=name,
            )


@rule(
    "Y09 Y10",
    by_name=True,
    formula="every image that runs in supply.signatures.namespaces has a digest",
    source=f"{_KYVERNO}, pkg/image/verification/evaluator/policy.go, checkDigests: an image without is refused",
)
def signed_image_not_pinned(draft: Draft) -> Iterable[Observation]:
    """A signature is of a digest: a tag may mean another image a moment after it was checked."""
    wanted = draft.settings.supply.signatures
    seen = set[str]()
    for path, image in images_in(draft.settings, wanted.namespaces) if wanted else ():
        if image not in seen and not is_pinned(image, draft.catalogue.digests):
            seen.add(image)
            yield Observation(
                path=path,
                sentence=f"only signed images run there, and {image} has no digest that a signature could be of",
                remedy="run make pin-images, or write the image with its digest (NAME:TAG@sha256:...)",
                subject=image,
            )


@aws_rule(
    "Y09",
    formula="a network from which nothing leads out has supply.signatures.key",
    source=f"{_KYVERNO}, pkg/image/verifiers/ivpol/cosign/opts.go: without a key it fetches Sigstore's roots by TUF",
)
def keyless_without_a_way_out(draft: AwsDraft) -> Iterable[Observation]:
    """Who checks a certificate asks Sigstore's servers for its roots, and no pod starts while they do not answer."""
    wanted = draft.settings.supply.signatures
    if wanted and wanted.keyless and not draft.vpc.leads_out:
        yield Observation(
            path="supply.signatures.keyless",
            sentence="nothing leads out of this network, and keyless signatures are checked with roots from "
            "tuf-repo-cdn.sigstore.dev",
            remedy="sign with a key (cosign sign --key awskms:///alias/images) and set supply.signatures.key",
        )
