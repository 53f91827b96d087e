"""The rules of policy/ as a policy pack: `pulumi preview --policy-pack policy/pack`.

It runs in an environment of its own (requirements.txt) and takes nothing of the program that it judges.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi_policy as crossguard
from pulumi_policy.proxy import UnknownValueError

sys.path.insert(0, str(Path(__file__).parents[2]))

from policy import RULES, aws, registration, replacement, secrecy
from policy.graph import UNKNOWN, Graph
from policy.pack.adapter import Adapter
from policy.rule import Rule, rules_of, violations

BLIND = (*rules_of(secrecy), replacement.changed_runs_start_anew)
"""Rules about what is marked as secret, or replaced on changes, which a pack is not shown."""
HOUSE = {registration.explicit_provider, registration.parented, registration.few_edges, aws.tagged, aws.encrypted}
"""Rules about this project's own manners: another program may have others."""

CONFIG = crossguard.PolicyConfigSchema(
    properties={
        "protected": {"type": "boolean", "default": False},
        "waived": {"type": "array", "items": {"type": "string"}, "default": []},
    }
)
adapter = Adapter(UnknownValueError)


def collect(args: Any, _report: Any) -> None:
    """Break nothing: inputs are seen here only."""
    adapter.see(args)


def validation(rule: Rule) -> Callable[[Any, Any], None]:
    """A rule as CrossGuard asks it."""

    def validate(args: Any, report: Any) -> None:
        graph = adapter.graph(args.resources, args.get_config())
        urns = {each.name: each.urn for each in graph.resources.values()}
        try:
            found = violations(graph, [rule])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if not _partly(graph):
                raise
            args.not_applicable(f"a whole input is not known yet, so that nobody can tell ({error})")
        for each in found:
            message = f"{each.resource} {each.sentence}\nremedy: {rule.remedy}\nsource: {rule.source}"
            report(message, urns.get(each.resource))

    return validate


def _partly(graph: Graph) -> bool:
    """Whether something of the graph is not known yet."""
    return any(UNKNOWN in str(each.inputs) for each in graph.resources.values())


def policy_of(rule: Rule) -> crossguard.StackValidationPolicy:
    """A rule as a policy. Its name is the rule's, as CrossGuard writes names."""
    level = crossguard.EnforcementLevel.ADVISORY if rule in HOUSE else crossguard.EnforcementLevel.MANDATORY
    return crossguard.StackValidationPolicy(
        name=rule.id.replace("_", "-"),
        description=rule.holds,
        validate=validation(rule),
        enforcement_level=level,
        config_schema=CONFIG,
    )


crossguard.PolicyPack(
    name="gpucluster",
    enforcement_level=crossguard.EnforcementLevel.MANDATORY,
    policies=[
        crossguard.ResourceValidationPolicy(
            name="inputs",
            description="What the other policies look at.",
            validate=collect,
            enforcement_level=crossguard.EnforcementLevel.ADVISORY,
        ),
        *(policy_of(rule) for rule in RULES if rule not in BLIND),
    ],
)
