"""A stack file's plan as JSON, for comparison with the planner of another revision.

    python - Pulumi.dev.yaml Pulumi.prod.yaml < planner/faces/told.py

run where the other tree lies tells of its stacks by its code. That is why this file is whole in itself.
"""

import json
import sys
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from planner.faces.outputs import flat, numbers
from planner.plan import AwsPlan, plan
from settings.errors import SettingsError
from settings.load import from_file


def told(file: Path, today: date | None = None) -> dict[str, Any]:
    """The plan of a stack file. `problems` are sentences about settings that nobody can plan.

    Then nothing else is there. Raises OSError if the file cannot be read.
    """
    try:
        planned = plan(from_file(file), today=today)
    except SettingsError as error:
        return {"problems": list(error.problems)}
    return {
        "problems": [],
        "numbers": dict(flat(numbers(planned))),
        "findings": [asdict(finding) for finding in planned.findings],
        "pools": {
            pool.name: {"hardware": pool.hardware, "nodes": pool.count, "role": pool.role}
            for pool in planned.pools.values()
        },
        "runs": runs(planned),
        "services": {
            service.name: {"pool": service.pool, "replicas": service.min_replicas}
            for service in planned.services.values()
        },
        **(_rented(planned) if isinstance(planned, AwsPlan) else _owned(planned)),
    }


def runs(planned: Any) -> dict[str, Any]:
    """What a run's job is made of, as far as it is told: by the run's name."""
    return {
        run.name: {
            "pool": run.pool,
            "pods": run.pods,
            "image": run.image,
            "script": list(run.script),
            "saves": asdict(run.saving) if run.saving else None,
        }
        for run in planned.runs.values()
    }


def _rented(planned: AwsPlan) -> dict[str, Any]:
    return {
        "usdPerHour": planned.prices.hourly,
        "usdToBuy": None,
        "quotas": {
            need.quota.name: {"need": need.need, "default": need.quota.default, "basis": need.basis}
            for need in planned.quotas
        },
    }


def _owned(planned: Any) -> dict[str, Any]:
    return {"usdPerHour": planned.owned.hourly.usd, "usdToBuy": planned.owned.purchase.usd, "quotas": {}}


if __name__ == "__main__":
    print(json.dumps({name: told(Path(name)) for name in sys.argv[1:]}))
