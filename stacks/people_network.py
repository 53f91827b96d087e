"""Network policies of pages and single sign-on: a page is reached through the gateway only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from catalogue import versions
from components.gateway.sign_in import LABELS, NAMESPACE, PORT
from components.gateway.traefik import LABELS as TRAEFIK
from components.kubeflow.pipelines import NAMESPACE as PIPELINES
from components.kubeflow.pipelines import UI_LABELS, UI_PORT
from components.kubeflow.pipelines_rbac import UI
from components.platform.network_rules import DENY, NAMES, Flow, Pods, Reach, Rule, at, internet
from components.tracking.mlflow import NAMESPACE as TRACKER
from components.tracking.mlflow import PORT as TRACKER_PORT
from components.tracking.mlflow import SERVER as TRACKER_SERVER
from components.tracking.mlflow import SERVICE as TRACKER_SERVICE
from planner.serving.gateway import PagePlan, PeoplePlan
from planner.teams import pipelines_of
from stacks.namespaces import GATEWAY, SERVED


@dataclass(frozen=True, kw_only=True)
class Target:
    """A page's Service and its port, and its pods by their labels and the port there."""

    namespace: str
    service: str
    port: int
    labels: Mapping[str, str]
    pod_port: int


TARGETS = {
    "grafana": Target(
        namespace="monitoring",
        service=f"{versions.KUBE_PROMETHEUS_STACK.name}-grafana",
        port=80,
        labels={"app.kubernetes.io/name": "grafana"},
        pod_port=3000,
    ),
    "mlflow": Target(
        namespace=TRACKER,
        service=TRACKER_SERVICE,
        port=TRACKER_PORT,
        labels=TRACKER_SERVER,
        pod_port=TRACKER_PORT,
    ),
    "pipelines": Target(namespace=PIPELINES, service=UI, port=80, labels=UI_LABELS, pod_port=UI_PORT),
}
"""Grafana's names are those of its chart."""


def target(page: PagePlan) -> Target:
    """What a page leads to. That of a team's has the same names in the team's namespace."""
    found = TARGETS[page.page]
    return found if page.team is None else replace(found, namespace=pipelines_of(page.team))


def people_rules(plan: PeoplePlan) -> Mapping[str, Sequence[Rule]]:
    """The rules by namespace. Whoever asks people asks their issuer, and nobody else outside.

    A NetworkPolicy knows no names: an issuer of the Internet is its port at every public address.
    """
    asks, traefik = Pods(labels=LABELS), Pods(namespace=GATEWAY, labels=TRAEFIK)
    port = [plan.issuer_port]
    issuer = Reach(cidrs=plan.issuer_networks, ports=port) if plan.issuer_networks else internet(port)
    targets = {each.namespace: each for each in map(target, plan.pages)}.values()
    to_pages = [
        Flow(peers=[Pods(namespace=each.namespace, labels=each.labels)], ports=[each.pod_port]) for each in targets
    ]
    servers = Pods(namespace=SERVED)
    judge = Rule(name="judges-tokens", egress=[Flow(peers=[Pods(namespace=NAMESPACE, labels=LABELS)], ports=[PORT])])
    asked = Flow(peers=[Pods(namespace=NAMESPACE, labels=LABELS)], ports=[PORT])
    return {
        GATEWAY: [Rule(name="pages", pods=Pods(labels=TRAEFIK), egress=[asked, *to_pages])],
        NAMESPACE: [
            DENY,
            NAMES,
            Rule(
                name="asks-people",
                pods=asks,
                ingress=[Flow(peers=[traefik, *([servers] if plan.callers else [])], ports=[PORT])],
                egress=[at(issuer)],
            ),
        ],
        **({SERVED: [judge]} if plan.callers else {}),
        **{
            each.namespace: [
                Rule(name="page", pods=Pods(labels=each.labels), ingress=[Flow(peers=[traefik], ports=[each.pod_port])])
            ]
            for each in targets
        },
    }
