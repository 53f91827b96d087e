"""What vendors list of their own programs, where those lists are at hand."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml


@cache
def listed_metrics() -> dict[str, dict[str, Any]]:
    """Metrics by name, or a skip that says that they are off."""
    place = os.environ.get("GPUCLUSTER_UPSTREAM", Path(__file__).parents[3] / "shared" / "upstream")
    file = Path(place) / "metrics" / "metric-names.yaml"
    if not file.exists():
        pytest.skip("off: the vendors' lists of metrics are not at hand; set GPUCLUSTER_UPSTREAM")
    listed: dict[str, dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))["metrics"]
    return listed
