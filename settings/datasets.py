"""Datasets: where they come from, and how a run has them."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.s3 import S3Uri
from settings.sections import Section, SectionError
from settings.types import LineageWord, Matching, Name, Sha256

_STEP = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}"


class Dataset(Section):
    """Data that runs read. It is copied once from `source` to its own directory on the shared file system."""

    name: Name
    gb: Annotated[float, Field(gt=0, le=10_000_000, description="decimal GB of an epoch")]
    source: Annotated[S3Uri | None, Field(description="None = it is already on the site's file system")] = None
    path: Annotated[
        Annotated[
            str,
            Matching(
                rf"{_STEP}(/{_STEP}){{0,7}}",
                "a directory below the file system's root, such as corpora/web-text: no name in it begins with a dot",
            ),
        ]
        | None,
        Field(
            description="directory on the shared file system of a dataset without a source, from its root;"
            " None = datasets/NAME"
        ),
    ] = None
    sha256: Annotated[
        Sha256 | None,
        Field(
            description="SHA-256 of the file SHA256SUMS next to the data: the copy ends well only if that file is this"
            " one, names every file, and each is what it says. Jobs have its first half as a label. None = nothing is"
            " compared"
        ),
    ] = None
    snapshot: Annotated[
        LineageWord | None,
        Field(
            description="runs read the data as it was when the `up` with this word copied it, from a snapshot of "
            "CephFS; another word takes another one. Jobs have it as a label. None = as the data are"
        ),
    ] = None

    @model_validator(mode="after")
    def _in_one_place(self) -> Self:
        if self.path is not None and self.source is not None:
            sentence = "is where data lies that nobody copies, and source is copied to a directory of its own; keep one"
            raise SectionError([(("path",), sentence)])
        return self

    @model_validator(mode="after")
    def _copied_where_it_is_frozen(self) -> Self:
        if self.snapshot is not None and self.source is None:
            sentence = "is of a volume that the dataset is copied to, and it is not copied; add source, or remove it"
            raise SectionError([(("snapshot",), sentence)])
        return self


class Reading(Section):
    """The dataset of a run; `staging` copies a node's shard, or all of it, to the local disks first."""

    name: Name
    staging: Literal["none", "shard", "full"] = "none"
