"""Where a stack's images and charts come from, if not from their makers."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from settings.secrets import REGISTRY_PASSWORD, SecretKey
from settings.sections import Section, SectionError
from settings.types import Matching, Name

RegistryPrefix = Annotated[
    str,
    Matching(
        r"(?=.{4,200}$)([a-z0-9]+([.-][a-z0-9]+)*\.[a-z0-9]+([.-][a-z0-9]+)*(:\d{2,5})?"
        r"|[a-z0-9]+([.-][a-z0-9]+)*:\d{2,5})"
        r"(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*",
        "a registry, with a path or without, such as 123456789012.dkr.ecr.us-east-2.amazonaws.com/mirror: no scheme, "
        "no tag, no slash at its end",
    ),
]
"""Source: distribution/reference, "Grammar" (domain with a dot or a port, lower-case path components)."""


Directory = Annotated[
    str,
    Matching(
        r"(?=.{1,100}$)[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*",
        "a directory below the stack file's own, such as build/charts: no name in it begins with a dot, no slash "
        "at its end",
    ),
]


PublicKey = Annotated[
    str,
    Matching(
        r"-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=]{1,76}\n){1,20}-----END PUBLIC KEY-----\n?",
        "a public key in PEM, as cosign public-key prints it: a block that begins with |, from BEGIN to END PUBLIC KEY",
    ),
]
Issuer = Annotated[
    str,
    Matching(
        r"https://[a-z0-9]+([.-][a-z0-9]+)*(/[A-Za-z0-9._~/-]*)?",
        "the address of an identity provider, such as https://token.actions.githubusercontent.com",
    ),
]
Identity = Annotated[
    str,
    Matching(
        r"[A-Za-z0-9][A-Za-z0-9@._:/+~-]{2,299}",
        "who signs, in full: https://github.com/OWNER/REPOSITORY/.github/workflows/images.yml@refs/heads/main, or a "
        "mail address; no pattern",
    ),
]


class Keyless(Section):
    """Keyless signatures: the signer's identity in a Fulcio certificate, logged in Rekor."""

    issuer: Annotated[Issuer, Field(description="identity provider that the signer was known to")]
    identity: Annotated[Identity, Field(description="the signer, as its certificate names it")]


class Signatures(Section):
    """Required image signatures in some namespaces; admission refuses other pods there."""

    key: Annotated[PublicKey | None, Field(description="public key of the signer")] = None
    keyless: Annotated[Keyless | None, Field(description="the signer by its identity, in place of a key")] = None
    namespaces: Annotated[
        tuple[Name, ...],
        Field(
            min_length=1,
            max_length=64,
            description="namespaces in which only signed images run: those of workloads and teams",
        ),
    ] = ("training", "inference")
    replicas: Annotated[
        int,
        Field(
            ge=1,
            le=5,
            description="replicas of the admission controller; while none answers, no new pod starts in the namespaces",
        ),
    ] = 3

    @model_validator(mode="after")
    def _has_one_signer(self) -> Self:
        if (self.key is None) == (self.keyless is None):
            said = "names no signer" if self.key is None else "names two signers"
            raise SectionError([((), f"{said}; set supply.signatures.key, or supply.signatures.keyless")])
        if len(set(self.namespaces)) != len(self.namespaces):
            raise SectionError([(("namespaces",), "lists a namespace twice; remove one")])
        return self


class Supply(Section):
    registry: Annotated[
        RegistryPrefix | None,
        Field(
            description="registry of all images, each under its full original name, registry host included; None ="
            " the vendors' registries"
        ),
    ] = None
    charts: Annotated[
        Directory | None,
        Field(
            description="directory next to the stack file with the charts' packages, as fetched and verified by make"
            " charts; None = Helm fetches them, unverified"
        ),
    ] = None
    signatures: Annotated[
        Signatures | None,
        Field(description="only images with this signature run in these namespaces; None = any image runs"),
    ] = None

    @model_validator(mode="after")
    def _can_hold_signatures(self) -> Self:
        if self.signatures is not None and self.registry is None:
            said = "are stored next to the images, and you cannot sign images in their vendors' registries"
            raise SectionError([(("signatures",), f"{said}; set supply.registry to one that you push to")])
        return self


class RegistryLogin(Section):
    """Who nodes are at the mirror, for every pod."""

    user: Annotated[
        str,
        Matching(r"[A-Za-z0-9_.$+@-]{1,100}", "a user of the registry, such as robot$nodes: no colon, no space"),
        Field(description="user, best one who may pull and nothing else"),
    ]
    secret: Annotated[SecretKey, Field(description="the secret of this file that is the user's password")] = (
        REGISTRY_PASSWORD
    )


class MetalSupply(Supply):
    registry_login: Annotated[
        RegistryLogin | None,
        Field(description="as whom nodes pull from supply.registry; None = it lets anybody pull"),
    ] = None

    @model_validator(mode="after")
    def _signs_in_somewhere(self) -> Self:
        if self.registry_login is not None:
            _login_fits(self)
        return self


def _login_fits(supply: Supply) -> None:
    """Raises SectionError where a login would be of no use, or where something else could not pull without one."""
    if supply.registry is None:
        said = "signs in to no registry; set supply.registry to the mirror, or remove supply.registryLogin"
        raise SectionError([(("registryLogin",), said)])
    if supply.signatures is not None:
        said = "is the nodes' alone, and who checks signatures asks the registry without it"
        raise SectionError([(("signatures",), f"{said}; remove supply.signatures, or let anybody pull")])


Host = Annotated[str, Matching(r"[a-z0-9]+([.-][a-z0-9]+)*", "a registry's host as images name it, such as docker.io")]

CredentialArn = Annotated[
    str,
    Matching(
        r"arn:aws(-[a-z]+)*:secretsmanager:[a-z0-9-]+:\d{12}:secret:ecr-pullthroughcache/[A-Za-z0-9/_+=.@-]+",
        "the ARN of a secret of Secrets Manager whose name begins with ecr-pullthroughcache/",
    ),
]
"""Source: ECR user guide, Storing your upstream repository credentials in an AWS Secrets Manager secret."""


class Cache(Section):
    credentials: Annotated[
        dict[Host, CredentialArn],
        Field(
            default_factory=dict, description="ARNs of secrets with which ECR signs in to upstream registries, by host"
        ),
    ]


SecretArn = Annotated[
    str,
    Matching(
        r"arn:aws(-[a-z]+)*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,512}-[A-Za-z0-9]{6}",
        "the whole ARN of a secret of Secrets Manager, with the six characters at its end",
    ),
]
"""Source: Secrets Manager API reference, GetSecretValue: no partial ARN."""


class KeptLogin(Section):
    """Who nodes are at the mirror, for every pod: nodes read it from Secrets Manager themselves."""

    secret_arn: Annotated[SecretArn, Field(description="secret that is a JSON object of username and password")]


class AwsSupply(Supply):
    registry_login: Annotated[
        KeptLogin | None,
        Field(
            description="as whom nodes pull from a supply.registry that is not ECR; None = it lets anybody pull, or is "
            "ECR, to which nodes sign in by their role"
        ),
    ] = None
    cache: Annotated[
        Cache | None,
        Field(
            description="pull through cache: ECR fetches each image when it is first pulled, below supply.registry,"
            " which belongs to the account; None = you copy the images there"
        ),
    ] = None

    @model_validator(mode="after")
    def _is_of_a_registry(self) -> Self:
        if self.cache is not None and self.registry is None:
            raise SectionError(
                [(("cache",), "needs a registry; set supply.registry to ACCOUNT.dkr.ecr.REGION.amazonaws.com")]
            )
        if self.registry_login is not None:
            _login_fits(self)
            if ".dkr.ecr." in (self.registry or ""):
                said = "is not needed: nodes sign in to ECR by their role"
                raise SectionError([(("registryLogin",), f"{said}; remove supply.registryLogin")])
        if self.cache is not None and self.signatures is not None:
            said = "is filled when a node first pulls an image, but admission checks signatures before that"
            raise SectionError([(("cache",), f"{said}; remove supply.cache and copy images (make images)")])
        return self
