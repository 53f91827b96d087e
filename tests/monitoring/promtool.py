"""Unit tests of the rules as promtool reads them."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from monitoring.failures import failures
from monitoring.rules import alert_groups, recording_groups
from tests.monitoring.cases import CASES
from tests.monitoring.cases.case import Case
from tests.monitoring.healthy import LIMITS, Series, gone, healthy

RUNBOOKS = "https://example.com/runbooks"
_BY_ID = {failure.id: failure for failure in failures()}


def rule_groups() -> list[dict[str, Any]]:
    """Every group, what is recorded before what reads it."""
    return [*recording_groups(LIMITS), *alert_groups(LIMITS, RUNBOOKS)]


def unit_test(name: str, changed: Series, minute: int, fires: dict[str, Case], ended: tuple[str, ...] = ()) -> object:
    """At that minute the alerts of the failures `fires` fire, each as its case says, and no other one does."""
    values = healthy() | changed | {series: gone(1) for series in ended}
    return {
        "name": name,
        "interval": "30s",
        "input_series": [{"series": series, "values": value} for series, value in values.items()],
        "alert_rule_test": [
            {
                "eval_time": f"{minute}m",
                "alertname": failure.alert,
                "exp_alerts": _expected(failure.id, fires[failure.id]) if failure.id in fires else [],
            }
            for failure in _BY_ID.values()
        ],
    }


def _expected(failure: str, case: Case) -> list[object]:
    rule = _BY_ID[failure].document(RUNBOOKS)
    labels, annotations = rule["labels"], rule["annotations"]
    assert isinstance(labels, dict)
    assert isinstance(annotations, dict)
    return [
        {
            "exp_labels": {**labels, **each},
            "exp_annotations": {
                **annotations,
                "summary": case.summary,
                "description": _filled(annotations["description"], {**labels, **each}),
            },
        }
        for each in case.labels
    ]


def _filled(template: str, labels: Mapping[str, str]) -> str:
    """With the labels that the alert has; a placeholder without one stays."""
    return re.sub(r'{{ or \$labels\.(\w+) "(\w+)" }}', lambda found: labels.get(found[1], found[2]), template)


def near_misses() -> Iterator[tuple[int, Series]]:
    """The silent series of all cases with the minute to look at: as many together as touch no series twice."""
    batches: list[tuple[int, Series]] = []
    for case in CASES.values():
        for minute, together in batches:
            if minute == case.minute and together.keys().isdisjoint(case.silent):
                together.update(case.silent)
                break
        else:
            batches.append((case.minute, dict(case.silent)))
    yield from batches


def run(promtool: Path, directory: Path, tests: list[object]) -> str:
    """What promtool finds wrong; nothing where the rules do as the tests say."""
    groups = rule_groups()
    (directory / "rules.json").write_text(json.dumps({"groups": groups}))
    path = directory / "tests.json"
    # Without an order promtool takes groups as they come, and a value that moves may be that of the time before.
    order = [group["name"] for group in groups]
    document = {"rule_files": ["rules.json"], "evaluation_interval": "30s", "group_eval_order": order, "tests": tests}
    path.write_text(json.dumps(document))
    done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, check=False, timeout=600)
    return "" if done.returncode == 0 else done.stdout + done.stderr
