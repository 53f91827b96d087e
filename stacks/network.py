"""With whom the pods of each namespace speak: nobody but those named here (NW08)."""

from collections.abc import Mapping, Sequence

from components.platform.network_rules import DENY, JOB_KEY, NAMES, Flow, Pods, Reach, Rule, gang, internet
from components.platform.taints import GATE_KEY
from components.training.gate_pods import NEWCOMERS_KEY
from planner.types import Plan
from stacks.platform import Connections

CALLER_KEY = "gpucluster/calls-models"
"""Label of namespaces whose pods may ask the model servers, where it is `true` (kubectl label namespace NAME ...)."""

_SCRAPERS = Flow(peers=[Pods(namespace="monitoring")])


def mail_ports(plan: Plan) -> tuple[int, ...]:
    """Ports of the mail servers that alerts go to."""
    receivers = plan.monitoring.receivers if plan.monitoring else ()
    return tuple(sorted({int(each.mail.server.rpartition(":")[2]) for each in receivers if each.mail}))


def network_rules(
    known: Connections, mail: Sequence[int] = (), gates: Sequence[str] = ()
) -> Mapping[str, Sequence[Rule]]:
    """The rules by namespace; `gates` are the pools that are measured."""
    return {
        "training": [DENY, NAMES, _scraped(), _objects(known, Pods()), *_gates(known, gates)],
        "inference": [
            DENY,
            NAMES,
            _scraped(),
            _objects(known, Pods(having=JOB_KEY)),
            _asked(known),
            Rule(name="jobs-ask-servers", pods=Pods(having=JOB_KEY), egress=[Flow(peers=[Pods()])]),
        ],
        "gpu-operator": [DENY, NAMES, _scraped(), _asks_api(known), _webhooks(known), _among_themselves()],
        "volcano-system": [DENY, NAMES, _scraped(), _asks_api(known), _webhooks(known)],
        "kubeflow": [DENY, NAMES, _scraped(), _asks_api(known), _webhooks(known), _fetches()],
        "monitoring": [
            DENY,
            NAMES,
            _asks_api(known),
            _webhooks(known),
            _among_themselves(),
            Rule(name="scrapes", egress=[Flow(peers=[Pods(namespace=None)]), _at(known.nodes)]),
            Rule(name="tells", egress=[_at(each) for each in _outside(known, mail)]),
        ],
    }


def _at(reach: Reach) -> Flow:
    return Flow(peers=[reach], ports=reach.ports)


def _scraped() -> Rule:
    return Rule(name="scraped", ingress=[_SCRAPERS])


def _objects(known: Connections, pods: Pods) -> Rule:
    """Copiers, and runs that save by themselves."""
    wanted = [known.objects, internet(), *([known.identity] if known.identity else [])]
    return Rule(name="object-store", pods=pods, egress=[_at(each) for each in dict.fromkeys(map(_frozen, wanted))])


def _frozen(reach: Reach) -> Reach:
    return Reach(cidrs=tuple(reach.cidrs), ports=tuple(reach.ports))


def _gates(known: Connections, pools: Sequence[str]) -> list[Rule]:
    """Pods that measure a pool meet at a port and exchange messages at any, and tell the API what they found.

    Those of newcomers measure a node alone. Storage they see is mounted by the node.
    """
    if not pools:
        return []
    tell = [_at(known.api)]
    return [
        *(gang({GATE_KEY: pool}, f"gate-{pool}") for pool in pools),
        Rule(name="gates-tell", pods=Pods(having=GATE_KEY), egress=tell),
        Rule(name="newcomers-tell", pods=Pods(having=NEWCOMERS_KEY), egress=tell),
    ]


def _asked(known: Connections) -> Rule:
    """By pods of the namespace's Jobs, of namespaces that are labelled as callers, and from where the platform says."""
    callers = Pods(namespace=None, namespace_labels={CALLER_KEY: "true"})
    outside = [known.callers] if known.callers else []
    return Rule(name="callers", ingress=[Flow(peers=[Pods(having=JOB_KEY), callers, *outside])])


def _asks_api(known: Connections) -> Rule:
    return Rule(name="asks-the-api", egress=[_at(known.api)])


def _webhooks(known: Connections) -> Rule:
    """The API server asks webhooks and aggregated APIs from its own address, at a port of the pod's."""
    return Rule(name="asked-by-the-api", ingress=[Flow(peers=[Reach(cidrs=known.api.cidrs)])])


def _among_themselves() -> Rule:
    own = [Flow(peers=[Pods()])]
    return Rule(name="among-themselves", ingress=own, egress=own)


def _fetches() -> Rule:
    """The Job that fetches the definitions of the training operator."""
    return Rule(name="fetches-definitions", pods=Pods(having=JOB_KEY), egress=[_at(internet())])


def _outside(known: Connections, mail: Sequence[int]) -> list[Reach]:
    """Where alerts and logs go."""
    return [internet((443, *mail)), *([known.identity] if known.identity else [])]
