"""Certificates at the load balancer: where there are any, whose they are, and what its TLS takes from streams."""

from collections.abc import Iterable

from planner.draft import AwsDraft, Draft, aws_rule, aws_warning, rule, warning
from planner.findings import Observation
from planner.rules.known import answering
from settings.serving import Service, Triton

IDLE_SECONDS = 350
"""Elastic Load Balancing user guide for Network Load Balancers, "Update the TCP idle timeout": for TLS, not to be
changed."""
NAMES, LONGEST_NAME = 10, 64
"""ACM user guide: "Quotas", domain names of a certificate; "Request a public certificate", octets of the first name."""

_ELSEWHERE = "take issuer: {kind: acme, email: ...} or {kind: private-ca}"


@rule(
    "Y12",
    formula="issuer acm: platform aws",
    source="ACM user guide, Services integrated with AWS Certificate Manager: its keys do not leave AWS",
)
def acm_elsewhere(draft: Draft) -> Iterable[Observation]:
    """Certificates of ACM are shown by load balancers of AWS, which racks have not."""
    gateway = draft.gateway
    if gateway is None or gateway.front is None or isinstance(draft, AwsDraft):
        return
    yield Observation(
        path="serving.gateway.issuer.kind",
        sentence="certificates of AWS Certificate Manager are for load balancers of AWS, and this platform's has none",
        remedy=_ELSEWHERE,
    )


@aws_rule(
    "Y12",
    formula="region and account of issuer.certificate = those of the stack",
    source="Elastic Load Balancing API reference, CreateListener: CertificateNotFound for one of another region; the "
    "ARN's fields, AWS General Reference, ARNs",
)
def acm_certificate(draft: AwsDraft) -> Iterable[Observation]:
    """An existing certificate is of the region and account in which the load balancer looks for it."""
    front = draft.gateway.front if draft.gateway else None
    if front is None or front.certificate is None:
        return
    where = draft.settings.platform
    region, account = front.certificate.split(":")[3:5]
    told = where.account_id or (where.role_arn.split(":")[4] if where.role_arn else account)
    for what, found, wanted in (("region", region, where.region), ("account", account, told)):
        if found != wanted:
            yield Observation(
                path="serving.gateway.issuer.certificate",
                sentence=f"its {what} is {found}, and the load balancer looks for it in {wanted}",
                remedy=f"request or import one in {wanted}, and name its ARN; or name a zone instead "
                "(issuer: {kind: acm, zone: Z...}), and the stack requests one",
                inputs={"certificate": found, "stack": wanted},
            )


@aws_warning(
    "Y12",
    formula=f"hostnames of a certificate that the stack requests <= {NAMES}",
    source="ACM user guide, Quotas: 10 domain names per certificate, 100 on request",
)
def acm_names(draft: AwsDraft) -> Iterable[Observation]:
    """A request for more names than the account's quota allows is refused in `up`."""
    gateway = draft.gateway
    if gateway is None or gateway.front is None or gateway.front.zone is None or len(gateway.hostnames) <= NAMES:
        return
    yield Observation(
        path="serving.gateway.issuer.zone",
        sentence=f"the certificate is for {len(gateway.hostnames)} hostnames, and ACM's quota is {NAMES} unless AWS "
        "has raised it for the account",
        remedy="have the quota raised and waive acm-names, or name an issued certificate for all of them, such as "
        "one for *.DOMAIN (issuer: {kind: acm, certificate: arn:...})",
        inputs={"hostnames": str(len(gateway.hostnames))},
    )


@aws_rule(
    "Y12",
    formula=f"the shortest hostname of a certificate that the stack requests <= {LONGEST_NAME} characters",
    source="ACM user guide, Request a public certificate: the first name is the common name, of 64 octets at most "
    "(RFC 5280)",
)
def acm_long_name(draft: AwsDraft) -> Iterable[Observation]:
    """One of the names fits the certificate's common name; the stack asks for the shortest first."""
    gateway = draft.gateway
    if gateway is None or gateway.front is None or gateway.front.zone is None or not gateway.hostnames:
        return
    shortest = min(gateway.hostnames.values(), key=len)
    if len(shortest) > LONGEST_NAME:
        yield Observation(
            path="serving.gateway.domain",
            sentence=f"{shortest} is the shortest of the hostnames and has {len(shortest)} characters, and the first "
            f"name of a certificate of ACM has {LONGEST_NAME} at most",
            remedy="shorten the domain, or give one service or page a shorter hostname",
            inputs={"characters": str(len(shortest))},
        )


@warning(
    "Y11",
    by_name=True,
    each=answering,
    formula=f"issuer acm: a public service's longest answer <= {IDLE_SECONDS} s",
    source='Elastic Load Balancing user guide for Network Load Balancers, "Update the TCP idle timeout": TLS listeners '
    "close connections in which no data was sent for 350 s, which cannot be changed",
)
def acm_silence(draft: Draft, service: Service | Triton) -> Iterable[Observation]:
    """A load balancer that ends TLS closes a connection that is silent for too long, as one that waits for a whole
    answer is. A stream's tokens are data.
    """
    gateway, plan = draft.gateway, draft.services.get(service.name)
    if gateway is None or gateway.front is None or plan is None or gateway.route(service.name) is None:
        return
    if plan.longest_stream_seconds > IDLE_SECONDS:
        yield Observation(
            path="maxModelLen",
            sentence=f"an answer of full length takes {plan.longest_stream_seconds:,} s, and the load balancer closes "
            f"connections that are silent for {IDLE_SECONDS} s: callers who do not stream do not get it",
            remedy="have callers stream (stream: true) or limit max_tokens, then waive acm-silence with the service "
            "as subject; or lower maxModelLen; or take issuer: {kind: acme, ...}, where the gateway keeps "
            "connections alive",
            inputs={"longest answer, s": str(plan.longest_stream_seconds), "idle, s": str(IDLE_SECONDS)},
        )
