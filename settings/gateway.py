"""The gateway for callers from outside: which networks may call which services, and how certificates are issued."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.people import People
from settings.sections import Path, Section, SectionError
from settings.types import Cidr, Email, Hostname, Matching

Zone = Annotated[str, Matching(r"Z[A-Z0-9]{1,31}", "the id of a hosted zone, such as Z0123456789ABCDEFGHIJ")]
Directory = Annotated[str, Matching(r"https://[^\s/]+/\S+", "the https address of a directory of ACME")]


class Issuer(Section):
    """Who signs certificates. `acme` is a public authority: it validates the hostname over plain http (HTTP-01),
    or, with a `zone`, by DNS (DNS-01), for which it need not reach the gateway.
    `private-ca` is one of the stack's own: callers have to be given its certificate.
    """

    kind: Annotated[
        Literal["acme", "private-ca"], Field(description="acme = a public authority; private-ca = the stack's own")
    ]
    email: Annotated[Email | None, Field(description="contact address for an acme authority")] = None
    server: Annotated[
        Directory | None, Field(description="directory of an acme authority; None = that of Let's Encrypt")
    ] = None
    zone: Annotated[
        Zone | None,
        Field(
            description="public hosted zone of Route 53 with the hostnames, for DNS challenges of an acme authority;"
            " None = HTTP challenges"
        ),
    ] = None

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        problems: list[tuple[Path, str]] = []
        if self.kind == "acme" and self.email is None:
            problems.append((("email",), "is missing, and kind is acme; add a contact address"))
        if self.kind != "acme":
            given = [key for key in ("email", "server", "zone") if getattr(self, key) is not None]
            problems += [((key,), f"applies to kind acme, and kind is {self.kind}; remove it") for key in given]
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
