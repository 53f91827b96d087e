"""Where images and charts are taken from: their makers, or copies that a site keeps of them.

A mirror has each image below its registry by the whole name that it has at its maker's, host first:
`MIRROR/quay.io/prometheus/prometheus:v3`. So no two images are one, and a cache in front of several registries has one
rule for each of them (Amazon ECR user guide, pull through cache rules: a prefix for each upstream registry; skopeo-sync
manual, --scoped, copies to such names).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalogue.chart_images import CHART_IMAGES, ChartImage, Part
from catalogue.image_types import repository
from catalogue.images import DIGESTS, pinned

DOCKER_HUB = "docker.io"


def whole_name(image: str) -> str:
    """An image with its host: Docker Hub where it names none, and `library` there where it names no owner. Pure."""
    first, slash, rest = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image if first != DOCKER_HUB or "/" in rest else f"{DOCKER_HUB}/library/{rest}"
    return f"{DOCKER_HUB}/{image}" if slash else f"{DOCKER_HUB}/library/{image}"


def mirrored(image: str, registry: str) -> str:
    """The image at the mirror; one that is at the mirror's host already stays where it is. Pure."""
    whole = whole_name(image)
    return image if whole.startswith(f"{registry.partition('/')[0]}/") else f"{registry}/{whole}"


@dataclass(frozen=True, kw_only=True)
class Login:
    """Who nodes are at a registry: `user`, whose password is the value `secret` of the stack file; or what `secret_arn`
    of Secrets Manager says, which nodes read themselves.
    """

    user: str | None = None
    secret: str | None = None
    secret_arn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Supply:
    """`registry` is where all images come from, HOST[:PORT][/PATH]; None: from their makers. `charts` is the directory
    with packages of charts that were compared with those on record; None: Helm fetches them. `only` are the hosts whose
    images the registry has; None: those of all. `login` is who nodes are there; None: anybody may pull, or IAM says
    who may.
    """

    registry: str | None = None
    charts: str | None = None
    only: frozenset[str] | None = None
    login: Login | None = None

    @property
    def host(self) -> str:
        """The registry's HOST[:PORT]; empty without a registry."""
        return (self.registry or "").partition("/")[0]

    def image(self, image: str, digests: Mapping[str, str] = DIGESTS) -> str:
        """An image as a pod names it, with its digest where one is known."""
        known = pinned(image, digests)
        return mirrored(known, self.registry) if self.registry and self.moves(image) else known

    def moves(self, image: str) -> bool:
        """Whether a mirror that there is has the image. Pure."""
        return self.only is None or whole_name(image).partition("/")[0] in self.only

    def directory(self, directory: str) -> str:
        """A registry's host, with a path or without, below which an operator or kubeadm names images itself."""
        return f"{self.registry}/{directory}" if self.registry else directory

    def values(self, chart: str) -> dict[str, Any]:
        """What a chart's values say of where its images come from; nothing without a mirror."""
        found: dict[str, Any] = {}
        if self.registry:
            for each in filter(lambda row: self.moves(row.image), CHART_IMAGES.get(chart, ())):
                for path, part in each.values.items():
                    _set(found, path.split("."), _part(each, part, self.registry))
        return found


def _part(row: ChartImage, part: Part, registry: str) -> str:
    """The part of the image's name at the mirror that a value holds."""
    image = mirrored(row.image, registry)
    host = whole_name(row.image).partition("/")[0]
    path = repository(whole_name(row.image)).removeprefix(f"{host}/")
    parts: dict[Part, str] = {
        "image": image,
        "repository": repository(image),
        "directory": repository(image).rpartition("/")[0],
        "path": path,
        "registry": repository(image).removesuffix(f"/{path}"),
    }
    return parts[part]


def _set(values: dict[str, Any], path: list[str], value: str) -> None:
    for key in path[:-1]:
        values = values.setdefault(key, {})
    values[path[-1]] = value
