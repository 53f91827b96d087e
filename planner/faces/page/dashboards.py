"""Where a deployed stack is looked at."""

from monitoring.dashboards import dashboards
from monitoring.dashboards.address import PORT_FORWARD, address
from planner.faces.page.elements import Markup, element, section, table
from planner.references import references
from planner.types import Plan


def links(plan: Plan) -> Markup:
    """The dashboards of the stack, with the command that brings them to a person's machine."""
    rows = (
        (element("a", each.title, href=address(each.uid)), each.description) for each in dashboards(references(plan))
    )
    said = "Once the stack is deployed with monitoring, this command brings its Grafana to your machine:"
    return section(
        "dashboards",
        "Dashboards",
        element("p", said),
        element("p", PORT_FORWARD, class_="rule"),
        table("What it shows, with this plan's numbers drawn in", ("dashboard", "shows"), rows),
    )
