"""The plan as a whole: imports, and that nothing of it is written down."""

import subprocess
import sys

from planner.plan import plan
from settings.load import from_file
from settings.model import Waiver
from tests.planner.stacks import ROOT, TODAY, planned

PROGRAM = ("settings", "catalogue", "planner")


def test_planner_and_settings_import_no_pulumi() -> None:
    """Settings, catalogue and planner run where Pulumi is not installed, and load what draws or parses when asked."""
    code = (
        "import sys; sys.modules['pulumi'] = None\n"
        "import settings.load, settings.schema, planner.plan, planner.__main__, planner.faces.findings\n"
        "import planner.faces.outputs, catalogue.pins\n"
        "assert not [name for name in sys.modules if name.startswith(('rich', 'networkx', 'boto'))]\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
    code = "import sys, settings.load, planner.plan, planner.faces.outputs\nassert 'yaml' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_a_waiver_of_a_rule_about_racks_is_unused_on_aws() -> None:
    """As anywhere, and not unknown."""
    stack = from_file(ROOT / "Pulumi.prod.yaml")
    waiver = Waiver.model_validate({"rule": "server-unknown", "reason": "nobody knows", "until": "2999-12-31"})
    waived = plan(stack.model_copy(update={"waivers": (*stack.waivers, waiver)}), today=TODAY)
    assert [each.rule for each in waived.findings if "waivers[" in each.path] == ["waiver-unused"]


def test_plan_has_no_outcome_written_into_it() -> None:
    """The planner computes: no figure of a committed stack's plan stands in its code."""
    made = planned("prod")
    (service,) = made.services.values()
    figures = {
        str(made.prices.hourly),
        str(service.kv_cache_tokens),
        *(str(pool.allocatable_memory_mib) for pool in made.pools.values()),
        *(subnet.cidr for subnet in made.subnets),
    }
    code = "".join(path.read_text(encoding="utf-8") for part in PROGRAM for path in (ROOT / part).rglob("*.py"))
    assert not [figure for figure in figures if figure in code.replace("_", "")]
