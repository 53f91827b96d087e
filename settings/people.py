"""Single sign-on for the cluster's pages: the OpenID Connect issuer, and which groups see which page."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.secrets import PEOPLE_CLIENT, PEOPLE_SESSIONS, SecretKey
from settings.sections import Path, Section, SectionError
from settings.types import Cidr, Hostname, Matching, Name

Issuer = Annotated[
    str,
    Matching(
        r"https://[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~/-]*)?",
        "the https address of an issuer as its discovery document says it, such as https://login.example.com/realms/ml",
    ),
]
Client = Annotated[str, Matching(r"[A-Za-z0-9._~:/-]{1,200}", "the id of a client, such as gpucluster")]
Word = Annotated[str, Matching(r"[A-Za-z0-9._:/-]{1,128}", "a word of letters, digits and . _ : / -, such as groups")]
Group = Annotated[
    str,
    Matching(
        r"[A-Za-z0-9/_]([A-Za-z0-9 ._:/@+-]{0,126}[A-Za-z0-9._:/@+-])?",
        "one group of the issuer's, with no comma in it, such as ml",
    ),
]
_GRAFANA = "grafana"


class Page(Section):
    """A page of the cluster that some groups may see. A page may be listed twice: for viewers, and under another
    name for editors.
    """

    page: Annotated[
        Literal["grafana", "mlflow", "pipelines"],
        Field(description="grafana = dashboards; mlflow = runs and models; pipelines = Kubeflow Pipelines"),
    ]
    name: Annotated[Name | None, Field(description="its name; None = the page's, with -TEAM where it is of a team")] = (
        None
    )
    hostname: Annotated[Hostname | None, Field(description="its hostname; None = NAME.DOMAIN of the gateway")] = None
    groups: Annotated[
        tuple[Group, ...], Field(min_length=1, max_length=32, description="groups whose members may see it")
    ]
    team: Annotated[
        Name | None, Field(description="page pipelines: the team whose own it shows; None = the stack's own")
    ] = None
    role: Annotated[
        Literal["viewer", "editor", "admin"],
        Field(description="their role in Grafana; other pages have no roles"),
    ] = "viewer"

    @model_validator(mode="after")
    def _role_of_grafana(self) -> Self:
        if self.page != _GRAFANA and self.role != "viewer":
            raise SectionError(
                [(("role",), f"is Grafana's, and the page is {self.page}, which has no roles; remove it")]
            )
        if self.page != "pipelines" and self.team is not None:
            sentence = f"is for page pipelines, and the page is {self.page}, which has nothing of one team; remove it"
            raise SectionError([(("team",), sentence)])
        return self

    @property
    def called(self) -> str:
        """Its name."""
        return self.name or (f"{self.page}-{self.team}" if self.team else self.page)


class People(Section):
    """Single sign-on: the issuer, and the pages that people may see. The stack's client at the issuer needs the
    redirect URI https://HOSTNAME/oauth2/callback of every page.
    """

    issuer: Annotated[Issuer, Field(description="the OpenID Connect issuer")]
    client_id: Annotated[Client, Field(description="client id of this stack at the issuer")]
    groups_claim: Annotated[Word, Field(description="ID token claim that lists a user's groups")] = "groups"
    scopes: Annotated[
        tuple[Word, ...],
        Field(min_length=1, description="requested scopes; some issuers need a scope `groups`"),
    ] = ("openid", "email", "profile")
    secret: Annotated[SecretKey, Field(description="the secret of this file that holds the client secret")] = (
        PEOPLE_CLIENT
    )
    session_secret: Annotated[
        SecretKey, Field(description="the secret of this file that encrypts sessions; changing it ends all of them")
    ] = PEOPLE_SESSIONS
    session_hours: Annotated[
        int,
        Field(
            ge=1,
            le=24,
            description="hours until people have to sign in again; until then a removed group member keeps access",
        ),
    ] = 8
    issuer_networks: Annotated[tuple[Cidr, ...], Field(description="networks of the issuer; empty = the Internet")] = ()
    pages: Annotated[tuple[Page, ...], Field(min_length=1, max_length=16, description="what people see")]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        problems = [*self._names_apart(), *self._secrets_apart(), *self._asks_for_an_id()]
        if problems:
            raise SectionError(problems)
        return self

    def _names_apart(self) -> Iterable[tuple[Path, str]]:
        seen: dict[str, int] = {}
        for index, page in enumerate(self.pages):
            if seen.setdefault(page.called, index) != index:
                yield ("pages", index, "name"), f"is {page.called} like pages[{seen[page.called]}]; choose another"

    def _secrets_apart(self) -> Iterable[tuple[Path, str]]:
        if self.secret == self.session_secret:
            yield ("sessionSecret",), "is the client's secret, which the issuer knows; name another secret"

    def _asks_for_an_id(self) -> Iterable[tuple[Path, str]]:
        if "openid" not in self.scopes:
            yield ("scopes",), "lack openid, without which an issuer returns no identity; add it"
