"""Files at addresses of the Internet: what a container that downloads gets, of the few that rehearsal can give."""

import re
from dataclasses import dataclass
from pathlib import Path

from rehearsal.toolchain import versions
from rehearsal.toolchain.manifests import manifest


@dataclass(frozen=True)
class _Published:
    """Files of a repository, which lie in a family's module, or in another `module` that it requires."""

    address: re.Pattern[str]
    family: str
    version: str
    module: str | None = None


_RAW = r"https://raw\.githubusercontent\.com"
_PUBLISHED = (
    _Published(
        re.compile(_RAW + r"/kubeflow/(?:training-operator|trainer)/(?P<tag>[^/]+)/(?P<path>manifests/.+)"),
        "training",
        versions.TRAINING_OPERATOR,
    ),
    _Published(
        re.compile(_RAW + r"/aws/karpenter-provider-aws/(?P<tag>[^/]+)/(?P<path>pkg/apis/crds/.+)"),
        "karpenter",
        versions.KARPENTER,
    ),
    _Published(
        re.compile(_RAW + r"/kubernetes-csi/external-snapshotter/(?P<tag>[^/]+)/client/(?P<path>config/crd/.+)"),
        "snapshotter",
        versions.SNAPSHOTTER,
    ),
    _Published(
        re.compile(_RAW + r"/kubernetes-sigs/gateway-api/(?P<tag>[^/]+)/(?P<path>config/crd/.+)"),
        "traefik",
        versions.GATEWAY_API,
        "sigs.k8s.io/gateway-api",
    ),
)


class NotFoundError(Exception):
    """The server behind a URL has no such file (of those that rehearsal can give); the text says which it has."""


def behind(url: str) -> Path:
    """The file at an address, byte by byte the vendor's. Raises NotFoundError."""
    for each in _PUBLISHED:
        if found := each.address.fullmatch(url):
            if found["tag"] != f"v{each.version}":
                raise NotFoundError(f"404 Not Found (rehearsal has the files of v{each.version})")
            try:
                return manifest(each.family, found["path"], each.module)
            except FileNotFoundError:
                raise NotFoundError("404 Not Found") from None
    raise NotFoundError("rehearsal has nothing behind it")
