"""Where a stack's images come from, if not from their makers."""

from typing import Annotated

from pydantic import Field

from settings.sections import Section
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
