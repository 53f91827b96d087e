"""How many series the plan counts of programs that run themselves in a rehearsal, and what Prometheus has of them."""

import pytest

from planner.monitoring.series import API_SERVERS, GRAFANA
from tests.planner.stacks import planned

from .rehearsed import Rehearsed, until

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("exporter", "jobs", "targets", "played", "most"),
    [
        ("apiserver", "apiserver", API_SERVERS, 0, 3.0),
        ("kube-state-metrics", "kube-state-metrics", 1, 0, 1.5),
        ("volcano", "volcano-(scheduler|controllers)-service", 1, 0, 1.5),
        ("training-operator", "training-operator", 1, 0, 1.5),
        ("monitoring", "kube-prometheus-stack-(operator|prometheus|alertmanager)", 1, GRAFANA, 1.1),
    ],
)
def test_what_runs_itself_exports_what_the_plan_counts_x10(
    dev: Rehearsed, exporter: str, jobs: str, targets: int, played: int, most: float
) -> None:
    """Of as many targets as are alike the rehearsal has one, and Grafana's are simulated.

    An API server's grow with the kinds, verbs and answers that it has seen: on a fresh site they are the plan's within
    10 %, behind the tests of the gateway 1.8 times as many. Volcano and the training operator have client-go's
    histograms of each verb once they have used it, and Volcano a few of each job: 1.16 times as many behind all tests.
    Those of kube-state-metrics grow with the objects that other tests leave.
    """
    monitoring = planned("dev").monitoring
    assert monitoring
    (plan,) = [each for each in monitoring.exporters if each.name == exporter]
    until(lambda: dev.asked(f'up{{job=~"{jobs}"}}') and not dev.asked(f'up{{job=~"{jobs}"}} == 0'), "it is scraped")
    ((_, found),) = dev.asked(f'count({{job=~"{jobs}"}})')
    counted = (plan.series - played) / targets
    assert 0.9 * counted <= found <= most * counted
