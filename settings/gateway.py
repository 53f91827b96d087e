"""The gateway for callers from outside: which networks may call which services, and how certificates are issued."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.people import People
from settings.sections import Path, Section, SectionError
from settings.types import Cidr, Email, Hostname, Matching

Zone = Annotated[str, Matching(r"Z[A-Z0-9]{1,31}", "the id of a hosted zone, such as Z0123456789ABCDEFGHIJ")]
CertificateArn = Annotated[
    str,
    Matching(
        r"arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate/[0-9a-f-]{36}",
        "the ARN of a certificate of ACM such as "
        "arn:aws:acm:us-east-2:123456789012:certificate/1234abcd-12ab-34cd-56ef-1234567890ab",
    ),
]
Directory = Annotated[str, Matching(r"https://[^\s/]+/\S+", "the https address of a directory of ACME")]


_APPLIES = {"email": ("acme",), "server": ("acme",), "zone": ("acme", "acm"), "certificate": ("acm",)}
"""The kinds that each further setting of an issuer belongs to."""


class Issuer(Section):
    """Who signs certificates. `acme` is a public authority: it validates the hostname over plain http (HTTP-01),
    or, with a `zone`, by DNS (DNS-01), for which it need not reach the gateway.
    `private-ca` is one of the stack's own: callers have to be given its certificate.
    `acm` is AWS Certificate Manager: the load balancer ends TLS by its certificate and goes on by TLS. The stack
    requests the certificate for hostnames of a `zone`, or takes an existing `certificate`.
    """

    kind: Annotated[
        Literal["acme", "private-ca", "acm"],
        Field(
            description="acme = a public authority; private-ca = the stack's own; acm = AWS Certificate Manager, at the"
            " load balancer"
        ),
    ]
    email: Annotated[Email | None, Field(description="contact address for an acme authority")] = None
    server: Annotated[
        Directory | None, Field(description="directory of an acme authority; None = that of Let's Encrypt")
    ] = None
    zone: Annotated[
        Zone | None,
        Field(
            description="public hosted zone of Route 53 with the hostnames: for DNS challenges of an acme authority,"
            " None = HTTP challenges; for the validation of a certificate that acm is asked for"
        ),
    ] = None
    certificate: Annotated[
        CertificateArn | None,
        Field(description="an issued certificate of acm, for all hostnames; None = the stack requests one"),
    ] = None

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        problems: list[tuple[Path, str]] = [
            ((key,), f"applies to kind {' or '.join(kinds)}, and kind is {self.kind}; remove it")
            for key, kinds in _APPLIES.items()
            if self.kind not in kinds and getattr(self, key) is not None
        ]
        if self.kind == "acme" and self.email is None:
            problems.append((("email",), "is missing, and kind is acme; add a contact address"))
        if self.kind == "acm" and self.zone is None and self.certificate is None:
            sentence = "is missing, and kind is acm; add the public zone of the hostnames, or an issued certificate"
            problems.append((("zone",), sentence))
        if self.kind == "acm" and self.zone is not None and self.certificate is not None:
            sentence = "is an issued one, and zone is for one that the stack requests; remove either"
            problems.append((("certificate",), sentence))
        if problems:
            raise SectionError(problems)
        return self


class Gateway(Section):
    """One gateway for all public services, each with a hostname, TLS and a limit of requests, and for people's pages.

    A service is at NAME.DOMAIN unless it names its hostname; Point DNS at it yourself.
    """

    domain: Annotated[Hostname, Field(description="parent domain of the services' hostnames")]
    issuer: Annotated[Issuer, Field(description="who signs the certificates of the hostnames")]
    reach: Annotated[
        Literal["internet", "network"],
        Field(description="internet = a load balancer with a public address; network = one inside the network only"),
    ] = "network"
    callers: Annotated[
        tuple[Cidr, ...],
        Field(min_length=1, description="networks that may connect; 0.0.0.0/0 is everybody"),
    ]
    max_replicas: Annotated[
        int | None,
        Field(
            ge=2,
            le=16,
            description="most pods of the gateway, and of what signs people in, under load; None = always two of each",
        ),
    ] = None
    people: Annotated[
        People | None, Field(description="pages of the cluster behind single sign-on; None = no page is exposed")
    ] = None
