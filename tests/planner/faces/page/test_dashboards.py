"""The page says where the deployed stack is looked at."""

import re

import pytest

from monitoring.dashboards import dashboards
from planner.faces.page.whole import page
from planner.metal_types import MetalPlan
from planner.references import references
from planner.types import AwsPlan
from tests.planner.stacks import planned, planned_metal


@pytest.mark.parametrize("plan", [planned("prod"), planned_metal()], ids=["aws", "metal"])
def test_every_dashboard_has_a_link(plan: AwsPlan | MetalPlan) -> None:
    text = page("lab", plan)
    assert "kubectl port-forward --namespace monitoring service/kube-prometheus-stack-grafana 3000:80" in text
    links = dict(re.findall(r'<a href="http://localhost:3000/d/([a-z-]+)">([^<]+)</a>', text))
    assert links == {each.uid: each.title for each in dashboards(references(plan))}
