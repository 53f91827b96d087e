"""Allowed connections of the operators that only owned machines have: Ceph's, and that of the fabric's cards (NW08).

What serves data is in its machine's own network, where no policy selects a pod: Ceph's daemons, the mounting side of
its drivers, and what the cards' operator puts on nodes, all but what hands out pods' addresses. What is left asks, and
nobody but the API server asks it: none of these operators has a web hook here.

Sources: rook/rook v1.20.6, pkg/operator/ceph (HostNetwork of each daemon, and of osd/provision_spec.go, whose pods are
not in it), deploy/examples/networkpolicy.yaml, which opens the way out altogether, since addresses of a site's
monitors are not known there; ceph/ceph-csi-operator, docs/design/hostNetwork.md and
internal/controller/driver_controller.go (the controllers' side is in the pods' network; nobody asks it, but for
CSI-Addons, which are off); Mellanox/network-operator v26.4.1, manifests (hostNetwork),
deployment/network-operator/templates/operator.yaml, pkg/docadriverimages (it lists the tags of the drivers' images);
k8snetworkplumbingwg/sriov-network-operator, bindata/manifests.
"""

from collections.abc import Sequence

from components.platform.network_rules import DENY, NAMES, Flow, Reach, Rule
from stacks.common_network import asks_api, webhooks
from stacks.platform import Connections

HTTPS = 443


def ceph_rules(known: Connections, public_cidr: str | None) -> Sequence[Rule]:
    """Rook, its short-lived pods and the controllers of volumes ask Ceph's daemons at addresses of their machines, and
    at those of `public_cidr` where daemons answer clients there. A daemon takes the first port of a long range that is
    free, so that none is named (Ceph documentation, "Network Configuration Reference").
    """
    daemons = Reach(cidrs=[*known.nodes.cidrs, *([public_cidr] if public_cidr else [])])
    return [DENY, NAMES, asks_api(known), Rule(name="asks-ceph", egress=[Flow(peers=[daemons])])]


def cards_rules(known: Connections, registry: str | None) -> Sequence[Rule]:
    """`registry`, HOST[:PORT][/PATH], has the drivers that the operator looks for; None: it looks for none. The API
    server may ask: the chart has a web hook for who turns it on.
    """
    rules = [DENY, NAMES, asks_api(known), webhooks(known)]
    if registry is None:
        return rules
    port = int(registry.partition("/")[0].partition(":")[2] or HTTPS)
    asks = Flow(peers=[Reach(cidrs=["0.0.0.0/0"])], ports=sorted({HTTPS, port}))
    return [*rules, Rule(name="asks-registry", egress=[asks])]
