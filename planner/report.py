"""A plan for people and for stack outputs."""

from collections.abc import Sequence
from dataclasses import asdict
from io import StringIO
from typing import Any

from planner.findings import Finding
from planner.types import Plan

_WIDTH = 118


def numbers(plan: Plan) -> dict[str, Any]:
    """The plan's numbers as JSON: small enough to be a stack output, so that a preview's diff shows them."""
    return {
        "totals": asdict(plan.totals),
        "pools": {
            pool.name: {
                "instanceType": pool.instance.type,
                "nodes": pool.count,
                "gpus": pool.gpus,
                "gpuModel": pool.instance.gpu.name if pool.instance.gpu else None,
                "efaPerNode": pool.efa,
                "maxPods": pool.max_pods,
            }
            for pool in plan.pools.values()
        },
        "gangs": {run.name: {"pods": run.pods, "gpus": run.gpus, "efa": run.efa} for run in plan.runs.values()},
        "services": {
            service.name: {
                "replicas": [service.min_replicas, service.max_replicas],
                "gpusPerReplica": service.pod.gpus,
                "kvCacheTokens": service.kv_cache_tokens,
            }
            for service in plan.services.values()
        },
        "subnets": {subnet.name: subnet.cidr for subnet in plan.subnets},
        "priceUsd": {
            "hourly": plan.prices.hourly,
            "hourlyRange": [plan.prices.hourly_low, plan.prices.hourly_high],
            "monthly": plan.prices.monthly,
            "unpriced": list(plan.prices.unpriced),
        },
        "findings": [
            {"rule": finding.rule, "severity": str(finding.severity), "about": str(finding), "waiver": finding.waiver}
            for finding in plan.findings
        ],
    }


def table(findings: Sequence[Finding]) -> str:
    """All findings in one table of fixed width, errors first; empty if there are none."""
    if not findings:
        return ""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=SIMPLE_HEAD, show_lines=True, width=_WIDTH)
    for heading in ("finding", "where", "what, and what to do"):
        grid.add_column(heading, overflow="fold")
    for finding in sorted(findings, key=lambda finding: (finding.waiver is not None, finding.severity)):
        state = f"waived {finding.severity}" if finding.waiver else str(finding.severity)
        advice = f"accepted: {finding.waiver}" if finding.waiver else finding.remedy
        grid.add_row(f"{state}\n{finding.rule}", finding.path, f"{finding.sentence}; {advice}")
    text = StringIO()
    Console(file=text, width=_WIDTH, markup=False, highlight=False, color_system=None).print(grid)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines() if line.strip())
