"""Image repositories that a stack on AWS has of its own."""

from typing import Annotated

from pydantic import Field

from settings.sections import Section
from settings.types import Matching

RepositoryName = Annotated[
    str,
    Matching(
        r"(?=.{2,100}$)[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*)*",
        "a repository such as llama-trainer: lower-case letters and digits, joined by '.', '_', '-' or '/', 2 to 100",
    ),
]
"""Source: ECR API reference, CreateRepository, repositoryName; the stack's own prefix comes before it."""


class Repository(Section):
    """An image repository: immutable tags, scan on push, old images are deleted."""

    name: RepositoryName
    keep_images: Annotated[int, Field(ge=1, le=10_000, description="number of newest images that are kept")] = 100
    untagged_days: Annotated[int, Field(ge=1, le=365, description="days after which untagged images are deleted")] = 14


class Registry(Section):
    repositories: Annotated[tuple[Repository, ...], Field(min_length=1, max_length=100)]
