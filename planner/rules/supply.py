"""Where images and charts come from, whose signature they have, and values that only documentation uses."""

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from catalogue.chart_digests import ALL_CHARTS, digest_of
from catalogue.chart_images import CHART_IMAGES
from catalogue.images import is_pinned
from catalogue.versions import ADDONS
from planner.draft import AwsDraft, Draft, aws_rule, aws_warning, rule, warning
from planner.findings import Observation
from planner.supply import images_in, signable


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
                sentence=f"this stack file names no image that runs in namespace {name}",
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
                sentence=f"only signed images run there, and {image} has no digest, to which a signature belongs",
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


_NETWORKS = tuple(IPv4Network(each) for each in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))
_ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?![\d.])")
_SIX = re.compile(r"2001:0?db8:|\b3fff:", re.IGNORECASE)
_DOMAIN = re.compile(r"(?:^|[@/.])example(?:\.(?:com|net|org|edu))?(?=[:/]|$)|\.(?:example|invalid|test)(?=[:/]|$)")
_ACCOUNT = re.compile(r"(?<!\d)(?:123456789012|012345678901|210987654321|111122223333|444455556666|777788889999)(?!\d)")
_SAME_DIGITS = re.compile(r"(?<!\d)(\d)\1{11}(?!\d)")
_WORDS = re.compile(
    r"(?:^|[/:@._-])(?:acme|change-?me|placeholder|amzn-s3-demo(?:-[a-z]+)?|"
    r"(?:my|your)-(?:bucket|company|org|team|account|models?|weights|data|registry))(?=$|[/:@._-])"
    r"|(?:^|[/:@])(?:doc-)?example(?=$|[/:@._-])",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"EXAMPLE|(?:cr-|vpc-|subnet-|sg-)0?123456789?|1234abcd-12ab-34cd-56ef-1234567890ab")
_TEXT = frozenset({"kind", "reason", "source", "subject"})
"""Keys of choices, of sentences, and of what is named elsewhere: ACME is a protocol, too. A dataset's source is an
address and begins like one."""

_MARK = "or say gpucluster:example: true, where nobody is to deploy it so"


@rule(
    "LF03",
    formula="no value is one of documentation, unless example: true",
    source="RFC 5737, RFC 3849, RFC 9637 (addresses); RFC 2606, RFC 6761 (names); AWS documentation (accounts, keys)",
)
def placeholder(draft: Draft) -> Iterable[Observation]:
    """Buckets, accounts, addresses and images are yours: values from documentation belong to nobody or to strangers."""
    if not draft.settings.example:
        for path, value, what, remedy in placeholders(draft.settings.model_dump(mode="json", by_alias=True)):
            yield Observation(path=path, sentence=f"{value} is {what}", remedy=f"{remedy}, {_MARK}", subject=value)


def placeholders(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Path, value, what the value is, and what to type instead, of every placeholder in plain settings."""
    for path, value in _texts("", settings):
        spoken = path.rpartition(".")[2] in _TEXT and "://" not in value
        found = None if spoken else _told(value)
        if found is not None:
            yield (path, value, *found)


def of_documentation(value: str) -> bool:
    """Whether a text names what documentation uses and nobody owns."""
    return _told(value) is not None


def _told(value: str) -> tuple[str, str] | None:
    """What is wrong with a text, and what to do; None if it may be somebody's."""
    if _SIX.search(value) or any(_documented(each) for each in _ADDRESS.findall(value)):
        return "an address of documentation, from which nobody comes", "type the networks of your own"
    if _ACCOUNT.search(value) or _SAME_DIGITS.search(value):
        return "of an account of documentation", "type the 12 digits of your own (aws sts get-caller-identity)"
    if _IDENTIFIER.search(value):
        return "an id of documentation", "type the one of your own"
    if _DOMAIN.search(value):
        return "of a domain that is nobody's", "type the one of your own"
    if not value.startswith("/") and _WORDS.search(value):
        if value.startswith("s3://"):
            return "in a bucket of documentation, whoever owns it by now", "name a bucket that you own"
        return "a name of documentation", "type the one of your own"
    return None


def _documented(text: str) -> bool:
    try:
        network = IPv4Network(text, strict=False)
    except ValueError:
        return False
    return any(network.subnet_of(each) for each in _NETWORKS)


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _texts(f"{path}.{key}" if path else str(key), below)
    elif isinstance(value, list | tuple):
        for index, below in enumerate(value):
            yield from _texts(f"{path}[{index}]", below)
