"""Base of EKS' operations: state of the request's region, paging, and the end of a request that starts something."""

from typing import Any

from moto.core.responses import ActionResult

from rehearsal.cloud.service import Refusal, Service
from rehearsal.eks.api.lifecycle import LIFECYCLE
from rehearsal.eks.api.store import Cluster, EksBackend, Update, eks


class EksOperations(Service):
    """What all groups of EKS operations share."""

    NAME = "eks"
    INVALID = "InvalidParameterException"

    @property
    def state(self) -> EksBackend:
        """EKS of the request's region."""
        return eks(self.region)

    def cluster_of(self, given: dict[str, Any]) -> Cluster:
        """The cluster a request names."""
        return self.state.cluster(given.get("clusterName") or given["name"])

    def begun(self, cluster: Cluster, kind: str, name: str = "") -> None:
        """Tell the life cycle that something of this cluster has to be worked on."""
        LIFECYCLE.begun(self.region, cluster.name, kind, name)

    def started(self, cluster: Cluster, update: Update) -> ActionResult:
        """Reply with an update that has been started."""
        self.begun(cluster, *update.subject)
        return ActionResult({"update": update.body})

    def page(self, key: str, items: list[Any], given: dict[str, Any]) -> ActionResult:
        """One page of a list; tokens are offsets."""
        start = int(given.get("nextToken") or 0)
        end = start + int(given.get("maxResults") or 100)
        token = str(end) if end < len(items) else None
        return ActionResult({key: items[start:end], "nextToken": token})


def in_use(message: str, **members: Any) -> Refusal:
    """ResourceInUseException, HTTP 409."""
    return Refusal("ResourceInUseException", message, **members)
