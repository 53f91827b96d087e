"""Where a stack's images come from, if not from their makers."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from settings.sections import Section, SectionError
from settings.types import Matching

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


class Supply(Section):
    registry: Annotated[
        RegistryPrefix | None,
        Field(
            description="where all images come from: each stands below it by its whole name, its own registry's host "
            "first; None = from their makers"
        ),
    ] = None
    charts: Annotated[
        Directory | None,
        Field(
            description="directory beside the stack file with the charts' packages, as make charts fetches and checks "
            "them; None = Helm fetches them itself, unchecked"
        ),
    ] = None


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
            default_factory=dict, description="secrets with which ECR signs in to registries that ask for it, by host"
        ),
    ]


class AwsSupply(Supply):
    cache: Annotated[
        Cache | None,
        Field(
            description="ECR fetches each image by itself when it is first pulled (pull through cache), below "
            "supply.registry, which is the account's; None = somebody copied the images there"
        ),
    ] = None

    @model_validator(mode="after")
    def _is_of_a_registry(self) -> Self:
        if self.cache is not None and self.registry is None:
            raise SectionError(
                [(("cache",), "caches for no registry; set supply.registry to ACCOUNT.dkr.ecr.REGION.amazonaws.com")]
            )
        return self
