"""What is in a container image, as far as its maker says."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from catalogue.echo import echo

_TAG = re.compile(r"(?<=[^/]):(?P<tag>\w[\w.-]*)(?:@.*)?$")
_RANGE = re.compile(r"(?P<repository>.*?)(?::(?P<first>[\d.]+?)\.\.(?P<last>[\d.]+)?)?$")
NUMBER = re.compile(r"\d+(?:\.\d+)+")
OFI_PLUGIN = "aws-ofi-nccl"
DEEPSPEED, MEGATRON_CORE, MEGATRON_BRIDGE = "deepspeed", "megatron-core", "megatron-bridge"
"""Frameworks by the names that pip knows them by."""


@dataclass(frozen=True, kw_only=True)
class ContainerImage:
    """Images of one repository. `name` is the repository, alone or with the tags it is about: `REPOSITORY:26.01..26.05`
    (`REPOSITORY:26.06..` for all from there on), compared by the first number with dots in a tag.

    Versions are None where the maker does not tell them. `packages` are frameworks that its maker says are in it,
    `lacks` is what is known not to be in it. `net_plugin` is the
    name by which NCCL finds the network plugin in it (NCCL_NET_PLUGIN; `ofi` stands for libnccl-net-ofi.so), `env` what
    it sets itself (NAME=VALUE). `holds` are paths: nothing else lies in the directories that they are in. `dockerfile`
    is the file that it is built from, by its path beside the stack file.
    """

    name: str
    cuda: str | None = None
    nccl: str | None = None
    aws_ofi_nccl: str | None = None
    mpi: str | None = None
    python: str | None = None
    packages: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    net_plugin: str | None = None
    env: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    dockerfile: str | None = None
    source: str

    def __post_init__(self) -> None:
        named = _RANGE.fullmatch(self.name)
        if named is None or tag(named["repository"]):
            raise ValueError(f"{echo(self.name)} is no repository, alone or with its tags as REPOSITORY:26.01..26.05")
        if OFI_PLUGIN in self.lacks and self.aws_ofi_nccl:
            raise ValueError(f"{self.name} has {OFI_PLUGIN} {self.aws_ofi_nccl} and lacks it")
        if self.dockerfile and (self.dockerfile.startswith("/") or ".." in self.dockerfile.split("/")):
            raise ValueError(f"{echo(self.dockerfile)} is not below the directory of the stack file")
        if both := set(self.packages) & set(self.lacks):
            raise ValueError(f"{self.name} has {', '.join(sorted(both))} and lacks it")

    @property
    def drives_efa(self) -> bool | None:
        """Whether NCCL finds aws-ofi-nccl in it; None where nobody says."""
        if OFI_PLUGIN in self.lacks:
            return False
        return True if self.aws_ofi_nccl or self.net_plugin else None

    def covers(self, image: str) -> bool:
        """Whether an image as it is written is of these, from its maker's registry or from a mirror of that."""
        own = _RANGE.fullmatch(self.name)
        written = repository(image)
        if own is None or not same(own["repository"], written):
            return False
        if own["first"] is None:
            return True
        version = numbers(tag(image))
        last = numbers(own["last"] or "")
        return bool(version) and numbers(own["first"]) <= version and (not last or version[: len(last)] <= last)

    def lacks_file(self, path: str) -> bool:
        """Whether a file is known not to be in it."""
        return (directory := self.listed(path)) is not None and not any(
            each == path or path.startswith(f"{each}/") for each in self.within(directory)
        )

    def listed(self, path: str) -> str | None:
        """The innermost directory around a path of which all contents are told."""
        around = {posixpath.dirname(each) for each in self.holds}
        return max((each for each in around if path.startswith(f"{each}/")), key=len, default=None)

    def within(self, directory: str) -> tuple[str, ...]:
        """What is told of a directory's contents."""
        return tuple(each for each in self.holds if posixpath.dirname(each) == directory and posixpath.basename(each))


def find(images: Mapping[str, ContainerImage], image: str) -> ContainerImage | None:
    """The row about an image; the last of several, as a site's own rows come after the shipped ones."""
    return next((row for row in reversed(list(images.values())) if row.covers(image)), None)


def repository(image: str) -> str:
    """An image without tag and digest."""
    return _TAG.sub("", image.partition("@")[0])


def tag(image: str) -> str:
    """An image's tag, "" without one."""
    found = _TAG.search(image.partition("@")[0])
    return found["tag"] if found else ""


def numbers(word: str) -> tuple[int, ...]:
    """The first number with dots in a tag: 26.06-py3 is (26, 6). Empty without one."""
    found = NUMBER.search(word)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def same(own: str, written: str) -> bool:
    """A mirror (a pull-through cache, a private registry) keeps the path and changes what is before it."""
    host, _, path = own.partition("/")
    return written == own or ("." in host and written.endswith(f"/{path}")) or written.endswith(f"/{own}")
