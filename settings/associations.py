"""Directories of FSx for Lustre that are linked with a prefix of a bucket (data repository associations)."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.sections import Path, Section, SectionError
from settings.types import Matching

Event = Literal["new", "changed", "deleted"]
MOST = 8
"""FSx API reference, CreateDataRepositoryAssociation."""


class Association(Section):
    """A directory and what it is linked with. What lies in the bucket shows in the directory at once, as names; bytes
    follow when they are read. `source` is told of like any other bucket in storage.sources.
    """

    path: Annotated[
        str,
        Matching(
            r"(/[A-Za-z0-9._-]{1,120}){1,8}", "a directory of the file system below its root, such as /datasets/corpus"
        ),
        Field(description="a dataset NAME without a source reads /datasets/NAME, or its own path"),
    ]
    source: Annotated[
        str,
        Matching(
            r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\s/]+)*/?", "an S3 address such as s3://team-a-text/corpus"
        ),
        Field(description="the S3 prefix that it is linked to; list its bucket in storage.sources as well"),
    ]
    imports: Annotated[
        tuple[Event, ...],
        Field(max_length=3, description="events in the bucket that are imported automatically"),
    ] = ("new", "changed", "deleted")
    exports: Annotated[
        tuple[Event, ...],
        Field(max_length=3, description="events in the directory that are exported automatically"),
    ] = ()

    @model_validator(mode="after")
    def _events_once(self) -> Self:
        told = (("imports", self.imports), ("exports", self.exports))
        problems: list[tuple[Path, str]] = [
            ((key,), "names an event twice; name each once") for key, events in told if len(set(events)) < len(events)
        ]
        if ".." in self.path.split("/") or "." in self.path.split("/"):
            problems.append((("path",), "contains . or ..; write the plain directory"))
        if problems:
            raise SectionError(problems)
        return self


def apart(associations: Sequence[Association]) -> Iterator[tuple[Path, str]]:
    """Neither two directories nor two prefixes of one file system lie in each other."""
    for key in ("path", "source"):
        for index, each in enumerate(associations):
            own = _whole(getattr(each, key))
            for number, other in enumerate(associations[:index]):
                theirs = _whole(getattr(other, key))
                if own.startswith(theirs) or theirs.startswith(own):
                    sentence = f"lies in or around associations[{number}].{key}, {getattr(other, key)}"
                    yield ("associations", index, key), f"{sentence}, which FSx does not allow; separate them"
                    break


def _whole(path: str) -> str:
    return path.rstrip("/") + "/"
