"""A network without a way out, and ECR as a cache: what nodes and pods ask all the same, and do not get."""

import re
from collections.abc import Iterable, Iterator

from catalogue.caching import ACCOUNT_REGISTRY, PREFIX_LIMIT, UPSTREAMS
from catalogue.endpoints import ENDPOINTS
from planner.draft import AwsDraft, aws_rule, aws_warning
from planner.findings import Observation
from planner.rules.known import followed, services, workloads
from planner.serving.startup import HubSource, source_of
from planner.stack import plan_supply
from planner.supply import images_of, plan_cache, pulled_hosts

_ECR_GUIDE = "Amazon ECR user guide, Sync an upstream registry with an Amazon ECR private registry"


@aws_rule(
    "F02",
    formula="supply.registry is ECR in the stack's region, and each rule's prefix has at most 30 characters",
    source=f"{_ECR_GUIDE}; ECR API reference, CreatePullThroughCacheRule (ecrRepositoryPrefix)",
)
def cache_registry(draft: AwsDraft) -> Iterable[Observation]:
    """Only ECR caches, a registry for each account and region."""
    supply, region = draft.settings.supply, draft.settings.platform.region
    if supply.cache is None:
        return
    found = ACCOUNT_REGISTRY.fullmatch(supply.registry or "")
    if found is None or found["region"] != region:
        yield Observation(
            path="supply.registry",
            sentence=f"supply.cache makes rules of ECR in {region}, and {supply.registry} is not the registry there",
            remedy=f"set supply.registry to ACCOUNT.dkr.ecr.{region}.amazonaws.com, or remove supply.cache",
        )
    for each in plan_cache(draft):
        if len(each.prefix) > PREFIX_LIMIT:
            yield Observation(
                path="supply.registry",
                sentence=f"the prefix {each.prefix} has {len(each.prefix)} characters, and a rule of ECR takes "
                f"{PREFIX_LIMIT}",
                remedy="shorten the path of supply.registry",
                subject=each.host,
            )


@aws_rule(
    "F02",
    by_name=True,
    formula="each registry that asks for a credential has one, a secret of the registry's account and region",
    source=f"{_ECR_GUIDE}; Creating a pull through cache rule (the secret's account and region)",
)
def cache_credential(draft: AwsDraft) -> Iterable[Observation]:
    """ECR takes no rule for Docker Hub or GitHub without a secret, and none with a secret of somewhere else."""
    supply = draft.settings.supply
    if supply.cache is None:
        return
    for each in plan_cache(draft):
        if UPSTREAMS[each.host].credential and each.credential_arn is None:
            yield Observation(
                path="supply.cache.credentials",
                sentence=f"ECR signs in to {each.host}, from which the stack pulls, and has no secret for it",
                remedy=f"put user name and access token into a secret named ecr-pullthroughcache/..., and its ARN here "
                f"as {each.host}",
                subject=each.host,
            )
    of = ACCOUNT_REGISTRY.fullmatch(supply.registry or "")
    for host, arn in supply.cache.credentials.items():
        path = f"supply.cache.credentials.{host}"
        if host not in UPSTREAMS or not UPSTREAMS[host].credential:
            asks = ", ".join(name for name, row in UPSTREAMS.items() if row.credential)
            yield Observation(
                path=path,
                sentence=f"ECR takes no secret for {host}",
                remedy=f"remove it; there are secrets for {asks}",
                subject=host,
            )
        elif of and arn.split(":")[3:5] != [of["region"], of["account"]]:
            yield Observation(
                path=path,
                sentence=f"{arn} is not a secret of the account {of['account']} in {of['region']}, where the rule is",
                remedy="make the secret there, and name that one",
                subject=host,
            )


@aws_warning(
    "F02",
    formula="ECR can fetch from every registry that the stack pulls from, if supply.cache",
    source=f"{_ECR_GUIDE}: the list of upstream registries, in which NVIDIA's is not",
)
def image_not_cached(draft: AwsDraft) -> Iterable[Observation]:
    """Images that ECR cannot fetch are still pulled from their maker; the finding names them."""
    if draft.settings.supply.cache is None:
        return
    own = draft.settings.supply.registry or ""
    rest = [host for host in pulled_hosts(draft) if host not in UPSTREAMS and host != own.partition("/")[0]]
    if rest:
        yield Observation(
            path="supply.cache",
            sentence=f"ECR has no pull through cache for {', '.join(rest)}; nodes pull those images from there",
            remedy="let nodes reach them and waive image-not-cached, or copy all images and remove supply.cache",
        )


_GUIDE = 'EKS user guide, "Deploy private clusters with limited internet access"'
_ECR = re.compile(r"\d{12}\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")


@aws_rule(
    "F02",
    formula="every service of AWS that the stack's nodes and pods ask has an endpoint, if nothing leads out",
    source=f"{_GUIDE}; Systems Manager user guide, VPC endpoints; Service endpoints of what the add-ons ask",
)
def closed_without_endpoint(draft: AwsDraft) -> Iterable[Observation]:
    """Nodes of a closed network find each service of AWS inside it: one without ec2 or ECR never joins its cluster."""
    if draft.vpc.leads_out:
        return
    there = draft.vpc.reached_inside
    beside = ", or to existing.endpoints where the VPC has one" if draft.vpc.existing else ""
    for service, what in _needed(draft):
        if service not in there:
            yield Observation(
                path="platform.network.endpoints",
                sentence=f"nothing leads out of the network, and it has no endpoint of {service} "
                f"({ENDPOINTS[service]}), which {what}",
                remedy=f"add {service} to it{beside}, or {_open(draft)}",
                subject=service,
                inputs={"NAT gateways": str(len(draft.nat_zones)), "endpoints": str(len(there))},
            )


def _open(draft: AwsDraft) -> str:
    """How the network gets a way out."""
    if draft.vpc.existing:
        return "say platform.network.existing.leadsOut: true where the VPC's routes lead to the Internet"
    return "take platform.network.nat: one"


def _cause(draft: AwsDraft) -> str:
    """The key that says that nothing leads out."""
    return "platform.network.existing.leadsOut" if draft.vpc.existing else "platform.network.nat"


def _needed(draft: AwsDraft) -> Iterator[tuple[str, str]]:
    """Services that nodes and pods ask, each with who asks.

    Whoever deploys asks more than endpoints bring: IAM has one in us-east-1 alone (IAM user guide, "Create a VPC
    endpoint for IAM"). Through a tunnel it asks from outside, and a runner inside has a way of its own.
    """
    settings = draft.settings
    yield "ec2", "nodes ask for their names, and the VPC CNI for addresses of pods"
    yield "ecr.api", "nodes ask before they pull the images of EKS' own add-ons"
    yield "ecr.dkr", "nodes pull the images of EKS' own add-ons from"
    yield "sts", "nodes and SDKs ask who they are"
    yield "eks-auth", "gives pods their rights, the volume driver's first"
    if settings.monitoring and settings.monitoring.logs:
        yield "logs", "monitoring.logs writes to"
    if settings.watches_files:
        yield "monitoring", "monitoring.fileSystem asks for the rates of FSx"
    if settings.external_secrets:
        yield "secretsmanager", "secrets of externalSecrets are fetched from"
    elif settings.supply.registry_login:
        yield "secretsmanager", "nodes ask who they are at the mirror (supply.registryLogin)"
    if settings.security.session_manager:
        yield "ssm", "agents of security.sessionManager sign in at"
        yield "ssmmessages", "shells of security.sessionManager pass through"


@aws_rule(
    "F02",
    by_name=True,
    formula="nothing that the stack pulls, copies or tells is on the Internet, if nothing leads out",
    source=f"{_GUIDE}: images come from a registry that the network reaches",
)
def closed_network(draft: AwsDraft) -> Iterable[Observation]:
    """Nothing in a closed network needs the Internet: images from public registries would stay in ErrImagePull, and
    alerts would reach nobody.
    """
    if draft.vpc.leads_out:
        return
    if draft.settings.supply.cache is not None:
        lost = "what ECR has not yet, it does not fetch by supply.cache: the first pull through an endpoint needs a NAT"
        yield _fails(draft, "supply.cache", "cache", lost, "copy the images and remove supply.cache")
    yield from _images(draft)
    lost = "the Job that makes the training operator's definitions does not get them from GitHub"
    yield _fails(draft, _cause(draft), "raw.githubusercontent.com", lost, "lead there by a proxy of the site's")
    for path, service in services(draft):
        if isinstance(source_of(service.weights), HubSource):
            yield _fails(
                draft, f"{path}.weights", service.name, f"{service.weights} cannot be fetched", "copy it to a bucket"
            )
    receivers = draft.settings.monitoring.receivers if draft.settings.monitoring else ()
    for index, each in enumerate(receivers):
        if each.kind in ("slack", "pagerduty"):
            wrong = f"{each.kind} is not reached, so the alerts of {each.name} are lost"
            yield _fails(
                draft, f"monitoring.receivers[{index}]", each.name, wrong, "take a webhook or a mail server inside"
            )
    tracking = draft.settings.training.tracking
    if tracking is not None and tracking.kind == "wandb":
        wrong = f"{tracking.host} is not reached, so what runs tell is lost"
        yield _fails(draft, "training.tracking.host", tracking.host, wrong, "take kind mlflow, which is in the cluster")
    if draft.gateway and draft.gateway.acme:
        wrong = f"{draft.gateway.acme.server} is not reached, so no certificate is signed"
        yield _fails(draft, "serving.gateway", "gateway", wrong, "take issuer: {kind: private-ca}")


def _images(draft: AwsDraft) -> Iterator[Observation]:
    """One for each registry, with the first image of it and where it is named."""
    seen: dict[str, tuple[str, str, int]] = {}
    supply = plan_supply(draft.settings)
    for path, image in _pulled(draft):
        image = supply.image(image)
        match = _ECR.match(image)
        if match and match["region"] == draft.settings.platform.region:
            continue
        first = seen.get(_registry(image), (path, image, 0))
        seen[_registry(image)] = (*first[:2], first[2] + 1)
    for registry, (path, image, count) in seen.items():
        others = f" and {count - 1} more" if count > 1 else ""
        wrong = f"{image}{others} cannot be pulled from {registry}"
        yield _fails(draft, path, registry, wrong, "name a mirror in ECR of the region as supply.registry")


def _pulled(draft: AwsDraft) -> Iterator[tuple[str, str]]:
    """Images of workloads, then those that the program names itself; charts have more of the same registries."""
    settings = draft.settings
    yield from ((f"{path}.image", each.image) for path, each in workloads(draft))
    yield from ((f"serving.triton[{index}].image", each.image) for index, each in enumerate(settings.serving.triton))
    yield from followed(draft)
    own = images_of(settings.training, settings.serving)
    yield from ((_cause(draft), image) for image in own)


def _registry(image: str) -> str:
    """Its host: docker.io where the name has none."""
    host, _, rest = image.partition("/")
    return host if rest and ("." in host or ":" in host) else "docker.io"


def _fails(draft: AwsDraft, path: str, subject: str, wrong: str, instead: str) -> Observation:
    said = "false" if draft.vpc.existing else "none"
    return Observation(
        path=path,
        sentence=f"nothing leads out of the network ({_cause(draft)} is {said}): {wrong}",
        remedy=f"{instead}, {_open(draft)}, or waive closed-network with {subject} as subject where a connected "
        "network leads there",
        subject=subject,
    )
