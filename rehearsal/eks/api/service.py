"""The whole of EKS in one responder, in place of moto's."""

from moto.eks import urls

from rehearsal.eks.api.access import AccessOperations
from rehearsal.eks.api.addons import AddonOperations
from rehearsal.eks.api.clusters import ClusterOperations
from rehearsal.eks.api.identities import PodIdentityOperations
from rehearsal.eks.api.nodegroups import NodegroupOperations
from rehearsal.eks.api.offered import VersionOperations
from rehearsal.eks.api.updates import UpdateOperations


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
