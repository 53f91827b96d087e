"""Allowed connections of Kubeflow Pipelines and the pods of its steps (NW08)."""

from collections.abc import Mapping, Sequence

from components.kubeflow.argo import CONTROLLER, WORKFLOW_KEY
from components.kubeflow.mysql import PORT as DATABASE_PORT
from components.kubeflow.pipeline_upload import UPLOADS
from components.kubeflow.pipelines import AGENT_LABELS, DATABASE, NAMESPACE, SCHEDULED_LABELS, UI_LABELS
from components.kubeflow.pipelines_metadata import ENVOY, ENVOY_PORT, METADATA, METADATA_PORT
from components.kubeflow.pipelines_server import GRPC_PORT, HTTP_PORT
from components.kubeflow.pipelines_server import LABELS as SERVER
from components.platform.network_rules import Flow, Pods, Reach, Rule, at
from components.tracking.mlflow import NAMESPACE as TRACKER
from components.tracking.mlflow import PORT as TRACKER_PORT
from components.tracking.mlflow import SERVER as TRACKER_SERVER
from stacks.backups import COPIES, copies_rule

STEPS = Pods(having=WORKFLOW_KEY)


def pipelines_rules(
    api: Reach, stores: Sequence[Reach], spaces: Sequence[str], *, tracked: bool
) -> Mapping[str, Sequence[Rule]]:
    """The rules in the `spaces` where pipelines are, and where steps tell a tracker, which knows no teams: those of
    teams do not. `stores` is how pods reach the object store.
    """
    found = {each: _rules(api, stores, tracked=tracked and each == NAMESPACE) for each in spaces}
    told = Flow(peers=[Pods(namespace=NAMESPACE, having=WORKFLOW_KEY)], ports=[TRACKER_PORT])
    heard = Rule(name="pipelines-tell", pods=Pods(labels=TRACKER_SERVER), ingress=[told])
    return {**found, **({TRACKER: [heard]} if tracked and NAMESPACE in spaces else {})}


def _rules(api: Reach, stores: Sequence[Reach], *, tracked: bool) -> Sequence[Rule]:
    """Those of one namespace, whose programs and steps speak with each other and with none of another one's."""
    asks_api = at(api)
    keeps = list(map(at, stores))
    server, metadata = Pods(labels=SERVER), Pods(labels=METADATA)
    agents = [Pods(labels=AGENT_LABELS), Pods(labels=SCHEDULED_LABELS)]
    database = Flow(peers=[Pods(labels=DATABASE)], ports=[DATABASE_PORT])
    serves = (HTTP_PORT, GRPC_PORT)
    tells = Flow(peers=[Pods(namespace=TRACKER, labels=TRACKER_SERVER)], ports=[TRACKER_PORT])
    steps = [
        asks_api,
        Flow(peers=[server], ports=serves),
        Flow(peers=[metadata], ports=[METADATA_PORT]),
        *([tells] if tracked else []),
        *keeps,
    ]
    return [
        Rule(
            name="pipelines-server",
            pods=server,
            ingress=[Flow(peers=[*agents, Pods(labels=UI_LABELS), STEPS, Pods(labels=UPLOADS)], ports=serves)],
            egress=[asks_api, database, Flow(peers=[metadata], ports=[METADATA_PORT]), *keeps],
        ),
        Rule(
            name="pipelines-metadata",
            pods=metadata,
            ingress=[Flow(peers=[server, STEPS, Pods(labels=ENVOY)], ports=[METADATA_PORT])],
            egress=[database],
        ),
        Rule(
            name="pipelines-database",
            pods=Pods(labels=DATABASE),
            ingress=[Flow(peers=[server, metadata, COPIES], ports=[DATABASE_PORT])],
        ),
        copies_rule("pipelines-copies", database, stores),
        Rule(
            name="pipelines-metadata-page",
            pods=Pods(labels=ENVOY),
            ingress=[Flow(peers=[Pods(labels=UI_LABELS)], ports=[ENVOY_PORT])],
            egress=[Flow(peers=[metadata], ports=[METADATA_PORT])],
        ),
        *(
            Rule(name=f"pipelines-{name}", pods=pods, egress=[asks_api, Flow(peers=[server], ports=serves)])
            for name, pods in zip(("agent", "clock"), agents, strict=True)
        ),
        Rule(
            name="pipelines-page",
            pods=Pods(labels=UI_LABELS),
            egress=[
                asks_api,
                Flow(peers=[server], ports=serves),
                Flow(peers=[Pods(labels=ENVOY)], ports=[ENVOY_PORT]),
                *keeps,
            ],
        ),
        Rule(name="workflows", pods=Pods(labels=CONTROLLER), egress=[asks_api]),
        Rule(name="pipelines-upload", pods=Pods(labels=UPLOADS), egress=[Flow(peers=[server], ports=serves)]),
        Rule(name="pipeline-steps", pods=STEPS, egress=steps),
    ]
