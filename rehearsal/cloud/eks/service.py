"""The whole of EKS in one responder, in place of moto's."""

from __future__ import annotations

from moto.eks import urls

from .access import AccessOperations
from .addons import AddonOperations
from .clusters import ClusterOperations
from .identities import PodIdentityOperations
from .nodegroups import NodegroupOperations
from .offered import VersionOperations
from .updates import UpdateOperations


class EksResponder(
    ClusterOperations,
    NodegroupOperations,
    AddonOperations,
    AccessOperations,
    PodIdentityOperations,
    UpdateOperations,
    VersionOperations,
):
    """Every EKS operation rehearsals know; another one is answered with NotImplemented."""


def route() -> None:
    """Send every EKS path here: moto's own patterns cannot carry the ARNs that EKS puts into paths."""
    urls.url_paths.clear()
    urls.url_paths["{0}/(?P<path>.+)$"] = EksResponder.dispatch
