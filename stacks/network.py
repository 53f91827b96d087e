"""Network policies of each namespace: deny by default, with the allowed connections listed here (NW08)."""

from collections.abc import Mapping, Sequence

from components.gateway.traefik import LABELS as TRAEFIK
from components.gateway.traefik import PLAIN_PORT, TLS_PORT
from components.platform.network_rules import DENY, JOB_KEY, NAMES, Flow, Pods, Reach, Rule, at, gang, internet
from components.platform.taints import GATE_KEY
from components.serving.arguments import PORT
from components.serving.keda import OPERATOR as KEDA_OPERATOR
from components.tracking.mlflow import NAMESPACE as TRACKER
from components.training.gate_pods import NEWCOMERS_KEY
from components.training.pod import RUN_KEY
from components.training.run_watch import WATCH_KEY
from planner.mlops import TrackingPlan
from planner.serving.gateway import GatewayPlan
from planner.types import Plan
from stacks.common_network import (
    among_themselves,
    asks_api,
    frozen,
    object_store,
    platforms_own,
    scraped,
    stores,
    webhooks,
)
from stacks.experiment_network import experiment_rules
from stacks.namespaces import CERTIFICATES, GATEWAY, KEDA, OUTSIDE, SIGNATURES
from stacks.people_network import people_rules
from stacks.pipelines_network import pipelines_rules
from stacks.platform import Connections
from stacks.tracking_network import tracking_rules

SOLVER_KEY, SOLVER_PORT = "acme.cert-manager.io/http01-solver", 8089
"""Of the pods that answer an authority (cert-manager, pkg/issuer/acme/http/solver and pkg/issuer/acme/http/pod.go)."""

CALLER_KEY = "gpucluster/calls-models"
"""Label of namespaces whose pods may ask the model servers, where it is `true` (kubectl label namespace NAME ...)."""

PROMETHEUS, PROMETHEUS_PORT = {"app.kubernetes.io/name": "prometheus"}, 9090
"""Labels that the Prometheus operator gives its pods (pkg/prometheus, common.go), and where they listen."""


def mail_ports(plan: Plan) -> tuple[int, ...]:
    """Ports of the mail servers that alerts go to."""
    receivers = plan.monitoring.receivers if plan.monitoring else ()
    return tuple(sorted({int(each.mail.server.rpartition(":")[2]) for each in receivers if each.mail}))


def network_rules(
    known: Connections,
    mail: Sequence[int],
    gates: Sequence[str],
    *,
    gateway: GatewayPlan | None,
    trials: Sequence[str],
    tracking: TrackingPlan | None,
    outside: bool,
    to_zero: bool,
    pipelines: Sequence[str],
    registry: int | None,
) -> Mapping[str, Sequence[Rule]]:
    """The rules by namespace; `gates` are the pools that are measured. Katib is there for namespaces of `trials`, with
    `tracking` what runs tell, with `outside` what brings secrets, with `to_zero` what takes last replicas away, with
    `pipelines` those of Kubeflow in these namespaces, with `registry`, the port that signatures are fetched from, what
    checks them.
    """
    katib = experiment_rules(known.api, stores(known), trials) if trials else {}
    told = tracking_rules(tracking, stores(known), trials or ("training",)) if tracking else {}
    steps = pipelines_rules(known.api, stores(known), pipelines, tracked=TRACKER in told)
    own = {TRACKER: [DENY, NAMES, *told[TRACKER], *steps.get(TRACKER, ())]} if TRACKER in told else {}
    own |= {each: [DENY, NAMES, scraped(), *steps[each]] for each in pipelines}
    pages = people_rules(gateway.people) if gateway and gateway.people else {}
    rules = (
        (_way_in(known, gateway) if gateway else {})
        | ({CERTIFICATES: _certificates(known, gateway)} if gateway or trials else {})
        | own
        | {
            each: [DENY, NAMES, scraped(), object_store(known, Pods()), *katib[each], *told.get(each, ())]
            for each in trials
        }
        | (_outside_rules(known) if outside else {})
        | (_zero_rules(known) if to_zero else {})
        | (_signature_rules(known, registry) if registry else {})
        | {
            "training": [
                DENY,
                NAMES,
                scraped(),
                object_store(known, Pods()),
                *_gates(known, gates),
                *_watched(known),
                *katib.get("training", ()),
                *told.get("training", ()),
            ],
            "inference": [
                DENY,
                NAMES,
                scraped(),
                object_store(known, Pods(having=JOB_KEY)),
                _asked(known),
                *([_asked_from_outside()] if gateway else []),
                Rule(name="jobs-ask-servers", pods=Pods(having=JOB_KEY), egress=[Flow(peers=[Pods()])]),
            ],
            "gpu-operator": [DENY, NAMES, scraped(), asks_api(known), webhooks(known), among_themselves()],
            "volcano-system": [DENY, NAMES, scraped(), asks_api(known), webhooks(known)],
            "kubeflow": [
                DENY,
                NAMES,
                scraped(),
                asks_api(known),
                webhooks(known),
                _fetches(),
                *katib.get("kubeflow", ()),
            ],
            "monitoring": [
                DENY,
                NAMES,
                asks_api(known),
                webhooks(known),
                among_themselves(),
                Rule(name="scrapes", egress=[Flow(peers=[Pods(namespace=None)]), at(known.nodes)]),
                Rule(name="tells", egress=[at(each) for each in _outside(known, mail)]),
                *([_told()] if to_zero else []),
            ],
        }
    )
    return {name: [*rules.get(name, ()), *pages.get(name, ())] for name in {**rules, **pages}}


def team_rules(known: Connections, *, named: bool) -> Sequence[Rule]:
    """What pods of a team reach: each other, name service and object stores; Prometheus reads their metrics.

    Where hosts outside are `named`, the platform lets pods to them, and to the name service, which it has to overhear:
    a rule of here for the same port would keep it from that (Cilium documentation, "Layer 7 Policies").
    """
    if named:
        near = [at(each) for each in dict.fromkeys(map(frozen, [known.objects, *platforms_own(known)]))]
        return [DENY, scraped(), Rule(name="object-store", egress=near), among_themselves()]
    return [DENY, NAMES, scraped(), object_store(known, Pods()), among_themselves()]


def _gates(known: Connections, pools: Sequence[str]) -> list[Rule]:
    """Pods that measure a pool meet at a port and exchange messages at any, and tell the API what they found.

    Those of newcomers measure a node alone. Storage they see is mounted by the node.
    """
    if not pools:
        return []
    tell = [at(known.api)]
    return [
        *(gang({GATE_KEY: pool}, f"gate-{pool}") for pool in pools),
        Rule(name="gates-tell", pods=Pods(having=GATE_KEY), egress=tell),
        Rule(name="newcomers-tell", pods=Pods(having=NEWCOMERS_KEY), egress=tell),
    ]


def _watched(known: Connections) -> list[Rule]:
    """What watches runs asks them for their step, and the API for the rest."""
    watch, runs = Pods(having=WATCH_KEY), Pods(having=RUN_KEY)
    return [
        Rule(name="watches-runs", pods=watch, egress=[at(known.api), Flow(peers=[runs])]),
        Rule(name="watched", pods=runs, ingress=[Flow(peers=[watch])]),
    ]


def _asked(known: Connections) -> Rule:
    """By pods of the namespace's Jobs, of namespaces that are labelled as callers, and from where the platform says."""
    callers = Pods(namespace=None, namespace_labels={CALLER_KEY: "true"})
    outside = [known.callers] if known.callers else []
    return Rule(name="callers", ingress=[Flow(peers=[Pods(having=JOB_KEY), callers, *outside])])


def _asked_from_outside() -> Rule:
    """By the gateway's pods, which ask the door of each server."""
    return Rule(name="gateway", ingress=[Flow(peers=[Pods(namespace=GATEWAY, labels=TRAEFIK)], ports=[PORT])])


def _certificates(known: Connections, gateway: GatewayPlan | None) -> list[Rule]:
    """cert-manager's rules: it asks an authority outside, where there is one, and the platform for records of names."""
    acme = gateway.acme if gateway else None
    authority = [internet((80, 443)), *(platforms_own(known) if acme and acme.zone else ())]
    return [
        DENY,
        NAMES,
        scraped(),
        asks_api(known),
        webhooks(known),
        among_themselves(),
        *([Rule(name="authority", egress=[at(each) for each in authority])] if acme else []),
    ]


def _way_in(known: Connections, gateway: GatewayPlan) -> dict[str, list[Rule]]:
    """A load balancer hands on what it lets in, from callers' addresses or its own, and from those of nodes.

    An authority's questions are answered by a pod beside the gateway, which cert-manager asks first from outside.
    """
    everywhere, traefik = Reach(cidrs=["0.0.0.0/0"]), Pods(labels=TRAEFIK)
    listens = Flow(peers=[everywhere], ports=[PLAIN_PORT, TLS_PORT])
    asks = Flow(peers=[Pods(namespace="inference")], ports=[PORT])
    solver = Flow(peers=[Pods(having=SOLVER_KEY)], ports=[SOLVER_PORT])
    answered = Rule(name="answers", pods=Pods(having=SOLVER_KEY), ingress=[Flow(peers=[traefik], ports=[SOLVER_PORT])])
    acme = gateway.acme is not None
    return {
        GATEWAY: [
            DENY,
            NAMES,
            scraped(),
            Rule(name="asks-the-api", pods=traefik, egress=[at(known.api)]),
            Rule(name="callers", pods=traefik, ingress=[listens]),
            Rule(name="asks-servers", pods=traefik, egress=[asks, *([solver] if acme else [])]),
            *([answered] if acme else []),
        ],
    }


def _outside_rules(known: Connections) -> dict[str, list[Rule]]:
    """What brings secrets asks their keeper, at a public address or inside the network."""
    asks = Rule(name="asks-keeper", egress=[at(each) for each in _outside(known, ())])
    return {OUTSIDE: [DENY, NAMES, scraped(), asks_api(known), asks]}


def _zero_rules(known: Connections) -> dict[str, list[Rule]]:
    """KEDA's metrics server asks its operator, and the API server the metrics server; the operator asks Prometheus."""
    prometheus = Flow(peers=[Pods(namespace="monitoring", labels=PROMETHEUS)], ports=[PROMETHEUS_PORT])
    asks = Rule(name="asks-prometheus", pods=Pods(labels=KEDA_OPERATOR), egress=[prometheus])
    return {KEDA: [DENY, NAMES, scraped(), asks_api(known), webhooks(known), among_themselves(), asks]}


def _told() -> Rule:
    """Prometheus answers KEDA's operator, which asks for what replicas follow."""
    asks = Flow(peers=[Pods(namespace=KEDA, labels=KEDA_OPERATOR)], ports=[PROMETHEUS_PORT])
    return Rule(name="tells-keda", pods=Pods(labels=PROMETHEUS), ingress=[asks])


def _signature_rules(known: Connections, port: int) -> dict[str, list[Rule]]:
    """A site's registry may have any address; Sigstore's servers and a cloud's tokens have port 443, or the platform's
    own service for rights.
    """
    registry = Reach(cidrs=["0.0.0.0/0"], ports=sorted({443, port}))
    asks = Rule(name="asks-registry", egress=[at(each) for each in (registry, *platforms_own(known))])
    return {SIGNATURES: [DENY, NAMES, scraped(), asks_api(known), webhooks(known), asks]}


def _fetches() -> Rule:
    """The Job that fetches the definitions of the training operator."""
    return Rule(name="fetches-definitions", pods=Pods(having=JOB_KEY), egress=[at(internet())])


def _outside(known: Connections, mail: Sequence[int]) -> list[Reach]:
    """Where alerts and logs go."""
    return [internet((443, *mail)), *platforms_own(known)]
