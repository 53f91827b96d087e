"""Allowed connections of Katib, its algorithms and trials, by namespace (NW08).

Ports: Katib 0.19, pkg/controller.v1beta1/consts/const.go.
"""

from collections.abc import Mapping, Sequence

from components.kubeflow.katib import LABELS
from components.kubeflow.katib_hooks import EXPERIMENT_KEY
from components.kubeflow.trial_database import DATABASE, DATABASE_PORT, MANAGER, MANAGER_PORT
from components.platform.network_rules import Flow, Pods, Reach, Rule, at
from stacks.backups import COPIES, copies_rule

ALGORITHM_PORT, STOPPING_PORT = 6789, 6788
_ALGORITHMS = "katib.kubeflow.org/suggestion"
"""Label of the pods of an algorithm's service (pkg/controller.v1beta1/util/labels.go)."""


def experiment_rules(api: Reach, stores: Sequence[Reach], spaces: Sequence[str]) -> Mapping[str, Sequence[Rule]]:
    """The rules where Katib runs and in the `spaces` where its trials do. Early stopping writes a trial's status.
    `stores` is how pods reach the object store.
    """
    trials, algorithms = Pods(having=EXPERIMENT_KEY), Pods(having=_ALGORITHMS)
    database = Flow(peers=[Pods(labels=DATABASE)], ports=[DATABASE_PORT])
    manager = Flow(peers=[Pods(namespace="kubeflow", labels=MANAGER)], ports=[MANAGER_PORT])
    controller = Pods(namespace="kubeflow", labels=LABELS)
    ports = (ALGORITHM_PORT, STOPPING_PORT)
    there = [
        Rule(name="trials-tell", pods=trials, egress=[manager, Flow(peers=[algorithms], ports=[STOPPING_PORT])]),
        Rule(
            name="algorithms",
            pods=algorithms,
            ingress=[Flow(peers=[controller], ports=ports), Flow(peers=[trials], ports=[STOPPING_PORT])],
            egress=[manager, at(api)],
        ),
    ]
    return {
        **dict.fromkeys(spaces, there),
        "kubeflow": [
            Rule(
                name="katib-asks",
                pods=Pods(labels=LABELS),
                egress=[
                    Flow(peers=[Pods(labels=MANAGER)], ports=[MANAGER_PORT]),
                    Flow(peers=[Pods(namespace=each, having=_ALGORITHMS) for each in spaces], ports=ports),
                ],
            ),
            Rule(
                name="trial-metrics",
                pods=Pods(labels=MANAGER),
                ingress=[
                    Flow(
                        peers=[
                            Pods(labels=LABELS),
                            *(
                                Pods(namespace=each, having=key)
                                for each in spaces
                                for key in (EXPERIMENT_KEY, _ALGORITHMS)
                            ),
                        ],
                        ports=[MANAGER_PORT],
                    )
                ],
                egress=[database],
            ),
            Rule(
                name="trial-database",
                pods=Pods(labels=DATABASE),
                ingress=[Flow(peers=[Pods(labels=MANAGER), COPIES], ports=[DATABASE_PORT])],
            ),
            copies_rule("trial-database-copies", database, stores),
        ],
    }
