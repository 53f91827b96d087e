"""Takes away the verdicts of a pool's nodes that say nothing any more: too old, or about another driver.

A node without a verdict gets no new run, and is measured alone as a new one is. What runs there goes on. The taint of a
node that failed stays until it was measured again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from publish import KEY, Api, ConflictError, label

DRIVER = "nvidia.com/cuda.driver-version.full"
"""What GPU feature discovery says of the node's driver (NVIDIA/k8s-device-plugin, internal/lm/nvml.go)."""

POOL = "gpucluster/pool"
OWN = (KEY, f"{KEY}-tests", f"{KEY}-driver", f"{KEY}-at")
_AT = "%Y-%m-%dT%H.%MZ"


def stale(node: Mapping[str, Any], days: int, now: datetime) -> str | None:
    """Why a node's verdict holds no longer; None where it does, or there is none."""
    labels = node["metadata"].get("labels") or {}
    if KEY not in labels:
        return None
    told = labels.get(f"{KEY}-at", "")
    try:
        at = datetime.strptime(told, _AT).replace(tzinfo=UTC)
    except ValueError:
        return f"nobody knows from when it is: {told!r}"
    if now - at > timedelta(days=days):
        return f"it is {(now - at).days} days old, and holds for {days}"
    driver, measured = label(labels.get(DRIVER, "")), labels.get(f"{KEY}-driver", "")
    if driver and driver != measured:
        return f"it is about driver {measured}, and the node has {driver}"
    return None


def expire(api: Api, pool: str, days: int, now: datetime) -> list[str]:
    """Takes them away; what was done, in sentences. A node that somebody else changes meanwhile waits for the next."""
    said = []
    for node in api.ask("GET", f"/api/v1/nodes?labelSelector={quote(f'{POOL}={pool}')}")["items"]:
        name, why = node["metadata"]["name"], stale(node, days, now)
        if why is None:
            continue
        version = node["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version, "labels": dict.fromkeys(OWN)}}
        try:
            api.patch(f"/api/v1/nodes/{name}", body)
        except ConflictError:
            said.append(f"{name} was changed meanwhile, and is looked at again next time")
        else:
            said.append(f"the verdict of {name} was taken away: {why}")
    return said


def main(words: Sequence[str]) -> int:
    """Looks once and says what was done; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--identity", type=Path, required=True, help="directory of the service account's token and CA")
    parser.add_argument("--pool", required=True)
    parser.add_argument("--days", type=int, required=True, help="days that a result is valid")
    asked = parser.parse_args(list(words))
    try:
        said = expire(Api.inside(asked.identity), asked.pool, asked.days, datetime.now(UTC))
    except OSError as error:
        print(f"results of pool {asked.pool} could not be checked: {error}", file=sys.stderr, flush=True)
        return 1
    print("\n".join(said) or f"all results of pool {asked.pool} are valid", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
