"""Allowed connections of the tracker, its database and its copier (NW08)."""

from collections.abc import Mapping, Sequence

from components.platform.network_rules import Flow, Pods, Reach, Rule, at, internet
from components.platform.postgresql import PORT as DATABASE_PORT
from components.tracking.database import DATABASE
from components.tracking.mlflow import NAMESPACE, PORT, SERVER
from components.training.pod import RUN_KEY
from planner.mlops import TrackingPlan
from stacks.backups import COPIES, copies_rule


def tracking_rules(plan: TrackingPlan, stores: Sequence[Reach], spaces: Sequence[str]) -> Mapping[str, Sequence[Rule]]:
    """The rules in the `spaces` of runs and where the tracker is; `stores` is how pods reach the object store."""
    runs = Pods(having=RUN_KEY)
    if plan.wandb is not None:
        tell = [Rule(name="runs-tell", pods=runs, egress=[Flow(peers=[internet()], ports=[443])])]
        return dict.fromkeys(spaces, tell)
    server, database = Pods(labels=SERVER), Pods(labels=DATABASE)
    asks = Flow(peers=[database], ports=[DATABASE_PORT])
    keeps = list(map(at, stores))
    told = Flow(peers=[Pods(namespace=each, having=RUN_KEY) for each in spaces], ports=[PORT])
    tells = Flow(peers=[Pods(namespace=NAMESPACE, labels=SERVER)], ports=[PORT])
    return {
        **{each: [Rule(name="runs-tell", pods=runs, egress=[tells])] for each in spaces},
        NAMESPACE: [
            Rule(name="tracker", pods=server, ingress=[told], egress=[asks, *keeps]),
            Rule(
                name="tracker-database",
                pods=database,
                ingress=[Flow(peers=[server, COPIES], ports=[DATABASE_PORT])],
            ),
            copies_rule("tracker-copies", asks, stores),
        ],
    }
