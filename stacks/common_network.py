"""Network policies that several namespaces have: what almost all pods may ask, and who asks them."""

from components.platform.network_rules import Flow, Pods, Reach, Rule, at, internet
from stacks.platform import Connections


def scraped() -> Rule:
    """Prometheus reads the metrics of all pods."""
    return Rule(name="scraped", ingress=[Flow(peers=[Pods(namespace="monitoring")])])


def object_store(known: Connections, pods: Pods) -> Rule:
    """Copiers, and runs that save by themselves."""
    return Rule(name="object-store", pods=pods, egress=[at(each) for each in stores(known)])


def stores(known: Connections) -> list[Reach]:
    """How an object store is reached, and what gives the rights there."""
    return list(dict.fromkeys(map(frozen, [known.objects, internet(), *platforms_own(known)])))


def platforms_own(known: Connections) -> list[Reach]:
    """What gives pods their rights, and the platform's services beside its object store."""
    return [each for each in (known.identity, known.services) if each is not None]


def frozen(reach: Reach) -> Reach:
    """With tuples, by which equal ones are found."""
    return Reach(cidrs=tuple(reach.cidrs), ports=tuple(reach.ports))


def asks_api(known: Connections) -> Rule:
    return Rule(name="asks-the-api", egress=[at(known.api)])


def webhooks(known: Connections) -> Rule:
    """The API server asks webhooks and aggregated APIs from its own address, at a port of the pod's."""
    return Rule(name="asked-by-the-api", ingress=[Flow(peers=[Reach(cidrs=known.api.cidrs)])])


def among_themselves() -> Rule:
    own = [Flow(peers=[Pods()])]
    return Rule(name="among-themselves", ingress=own, egress=own)
