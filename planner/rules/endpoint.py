"""Who reaches the API and who is told; the log of it; waivers; rows of the site."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from ipaddress import IPv4Network, collapse_addresses

from planner.draft import AwsDraft, Draft, aws_rule, aws_warning, rule
from planner.findings import Observation

OUTSIDE = "name the public addresses of those who deploy and operate, such as 203.0.113.0/24"
WIDEST = 2**16
"""Addresses that one organisation may let in without saying why: those of a /16."""
_PRIVATE = tuple(IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
_WHOLE = IPv4Network("0.0.0.0/0")


@aws_rule(
    "LF02 Y14",
    formula="the networks of publicAccessCidrs and access.cidrs together do not hold every address",
    source="EKS user guide, Cluster API server endpoint: the default 0.0.0.0/0 lets everybody ask",
)
def endpoint_open(draft: AwsDraft) -> Iterable[Observation]:
    """The Kubernetes API is not open to the whole Internet, where only credentials would protect it."""
    networks = list(_networks(draft))
    whole = [(path, each) for path, each in networks if each == _WHOLE]
    for path, each in whole:
        yield Observation(
            path=path,
            sentence=f"{each} lets every address of the Internet reach the Kubernetes API",
            remedy=OUTSIDE,
            inputs={"network": str(each)},
        )
    together = list(collapse_addresses(each for _, each in networks))
    if not whole and together == [_WHOLE]:
        path, _ = networks[0]
        yield Observation(
            path=path.partition("[")[0],
            sentence=f"these {len(networks)} networks together let every address of the Internet reach the Kubernetes "
            "API",
            remedy=OUTSIDE,
            inputs={"networks": ", ".join(str(each) for _, each in networks)},
        )


@aws_rule(
    "LF02 Y14",
    formula="addresses of publicAccessCidrs, each counted once <= 65536",
    source="definition of the planner; CIS Amazon EKS benchmark, 5.4.1: restrict access to the control plane endpoint",
)
def endpoint_wide(draft: AwsDraft) -> Iterable[Observation]:
    """The Kubernetes API is open to office or egress networks of usual size, not to a whole provider's range."""
    public = [IPv4Network(each) for each in draft.settings.platform.public_access_cidrs]
    together = list(collapse_addresses(public))
    addresses = sum(each.num_addresses for each in together)
    if WIDEST < addresses < _WHOLE.num_addresses:
        widest = max(public, key=lambda each: each.num_addresses)
        yield Observation(
            path=f"platform.publicAccessCidrs[{public.index(widest)}]",
            sentence=f"{addresses} public addresses reach the Kubernetes API, {widest} the most of them",
            remedy=f"{OUTSIDE}, or waive endpoint-wide with the reason if all of it is yours",
            subject=str(widest),
            inputs={"addresses": str(addresses), "at most": str(WIDEST)},
        )


@aws_warning(
    "LF02 Y14",
    by_name=True,
    formula="no publicAccessCidrs, if lifecycle.protect",
    source="EKS best practices guide, Security, Cluster Access: make the EKS cluster endpoint private",
)
def endpoint_protected(draft: AwsDraft) -> Iterable[Observation]:
    """A protected stack (lifecycle.protect) has a private API endpoint, or a waiver says why not."""
    if draft.settings.lifecycle.protect:
        for index, each in enumerate(draft.settings.platform.public_access_cidrs):
            yield Observation(
                path=f"platform.publicAccessCidrs[{index}]",
                sentence=f"the stack is protected, and its Kubernetes API answers the Internet, from {each}",
                remedy="connect the network (access: {via: vpn, network: office, cidrs: [10.8.0.0/16]}), or waive "
                "endpoint-protected with the network as subject",
                subject=each,
            )


@aws_rule(
    "LF02 Y14",
    by_name=True,
    formula="every network of access.cidrs is of RFC 1918 or RFC 6598",
    source="RFC 1918; RFC 6598; VPC user guide, Transit gateways: routes lead to the networks that are named",
)
def endpoint_through(draft: AwsDraft) -> Iterable[Observation]:
    """A connected network has private addresses; a public range belongs to others and may be routed elsewhere."""
    access = draft.settings.platform.access
    for index, each in enumerate(access.cidrs if access else ()):
        network = IPv4Network(each)
        if network != _WHOLE and not any(network.subnet_of(one) for one in _PRIVATE):
            yield Observation(
                path=f"platform.access.cidrs[{index}]",
                sentence=f"{each} is let in as a connected network, and its addresses are public ones",
                remedy="name the private addresses of the connected network, or waive endpoint-through with the "
                "network as subject if they are yours and routed to the VPC",
                subject=each,
            )


@aws_rule(
    "LF02",
    formula="publicAccessCidrs names a network, or access a way to the private endpoint",
    source="EKS user guide, Cluster API server endpoint: accessing a private only API server",
)
def endpoint_private(draft: AwsDraft) -> Iterable[Observation]:
    """Who deploys reaches the Kubernetes API, or every Kubernetes resource fails after AWS' parts are paid for."""
    if draft.endpoint.private and not draft.endpoint.private_cidrs:
        yield Observation(
            path="platform.publicAccessCidrs",
            sentence="the Kubernetes API answers inside the VPC only, and nothing says how the person or runner "
            "that deploys, previews or destroys the stack reaches it",
            remedy=f"{OUTSIDE}, or the connected network: access: {{via: transit-gateway, network: office, "
            "cidrs: [10.8.0.0/16]}, or access: {via: inside} for a runner in the VPC",
        )


def _networks(draft: AwsDraft) -> Iterator[tuple[str, IPv4Network]]:
    """Every network that is let in, with its path in the stack file."""
    platform = draft.settings.platform
    for index, cidr in enumerate(platform.public_access_cidrs):
        yield f"platform.publicAccessCidrs[{index}]", IPv4Network(cidr)
    for index, cidr in enumerate(platform.access.cidrs if platform.access else ()):
        yield f"platform.access.cidrs[{index}]", IPv4Network(cidr)


@aws_warning(
    "Y10",
    formula="security.auditLog is set, if lifecycle.protect",
    source="EKS best practices guide, Detective controls: retain control-plane logs for as long as investigations need",
)
def audit_log_goes(draft: AwsDraft) -> Iterable[Observation]:
    """The audit log of a protected cluster is kept after the cluster is gone, or a waiver says why not."""
    if draft.settings.lifecycle.protect and draft.settings.security.audit_log is None:
        yield Observation(
            path="security.auditLog",
            sentence="the log of who did what in the cluster is deleted after 30 days, and with the stack",
            remedy="set security.auditLog.keyArn to a KMS key that CloudWatch Logs may use, and not the stack's",
        )


LONGEST = timedelta(days=90)
"""A quarter: somebody looks again, or the waiver is a setting that nobody decided on."""


@rule(
    "I03",
    by_name=True,
    formula="until <= today + 90 days, unless the stack is an example",
    source="NIST SP 800-53 CA-5, RA-3: accepted risks are reviewed; a quarter is this program's choice",
)
def waiver_far(draft: Draft) -> Iterable[Observation]:
    """A waiver ends within 90 days, so that what it accepts is decided again; examples are nobody's stack."""
    if draft.settings.example:
        return
    last = draft.today + LONGEST
    for index, waiver in enumerate(draft.settings.waivers):
        if waiver.until > last:
            yield Observation(
                path=f"waivers[{index}].until",
                sentence=f"the waiver of {waiver.rule} lasts until {waiver.until.isoformat()}, more than 90 days",
                remedy=f"let it end by {last.isoformat()}, and decide again then",
                subject=waiver.rule,
                inputs={"until": waiver.until.isoformat(), "today": draft.today.isoformat()},
            )


@rule(
    "B01",
    formula="a row's like and names are in the catalogue, and every field has a value",
    source="Definition of the stack file (catalogue)",
)
def site_row(draft: Draft) -> Iterable[Observation]:
    """A site's own rows are complete, and name rows that exist."""
    for path, sentence in draft.site_problems:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        what, _, remedy = sentence.partition("; ")
        yield Observation(
            path=f"catalogue{''.join(steps)}", sentence=what, remedy=remedy, subject=".".join(map(str, path))
        )
