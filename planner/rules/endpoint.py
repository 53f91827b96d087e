"""Who reaches the Kubernetes API."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from planner.draft import AwsDraft, aws_rule
from planner.findings import Observation

OUTSIDE = "name the public addresses of those who deploy and operate, such as 203.0.113.0/24"


@aws_rule(
    "endpoint-open",
    "LF02",
    "Y14",
    formula="no network of publicAccessCidrs or access.cidrs holds every address",
    source="EKS user guide, Cluster API server endpoint: the default 0.0.0.0/0 lets everybody ask",
)
def endpoint_open(draft: AwsDraft) -> Iterable[Observation]:
    """The Kubernetes API does not answer the whole Internet: what keeps strangers out is then the credentials alone."""
    for path, cidr in _networks(draft):
        if IPv4Network(cidr).prefixlen == 0:
            yield Observation(
                path=path,
                sentence=f"{cidr} lets every address of the Internet reach the Kubernetes API",
                remedy=OUTSIDE,
                inputs={"network": cidr},
            )


@aws_rule(
    "endpoint-private",
    "LF02",
    formula="publicAccessCidrs names a network, or access a way to the private endpoint",
    source="EKS user guide, Cluster API server endpoint: accessing a private only API server",
)
def endpoint_private(draft: AwsDraft) -> Iterable[Observation]:
    """Who deploys reaches the Kubernetes API, or every Kubernetes resource fails after AWS' parts are paid for."""
    if draft.endpoint.private and not draft.endpoint.private_cidrs:
        yield Observation(
            path="platform.publicAccessCidrs",
            sentence="the Kubernetes API answers inside the VPC only, and nothing says how who deploys, previews or "
            "destroys the stack gets there",
            remedy=f"{OUTSIDE}, or the connected network: access: {{via: transit-gateway, network: office, "
            "cidrs: [10.8.0.0/16]}, or access: {via: inside} for a runner in the VPC",
        )


def _networks(draft: AwsDraft) -> Iterator[tuple[str, str]]:
    """Every network that is let in, with its path in the stack file."""
    platform = draft.settings.platform
    yield from ((f"platform.publicAccessCidrs[{i}]", cidr) for i, cidr in enumerate(platform.public_access_cidrs))
    if platform.access is not None:
        yield from ((f"platform.access.cidrs[{i}]", cidr) for i, cidr in enumerate(platform.access.cidrs))
