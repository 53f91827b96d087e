"""Waits, when its Deployment is deleted, until drivers have removed the volumes whose claims are gone.

A claim goes with its namespace; its volume goes later, by the driver, once it is detached from its node. Nothing of
Kubernetes holds the driver until then, and what it has not removed is in no state and costs on. A pod that only moves
to another node, or makes room for a newer one, waits for nothing.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any

from publish import Api

PROVISIONED = "pv.kubernetes.io/provisioned-by"
"""On volumes that somebody made for claims (external-provisioner and local-static-provisioner, pkg)."""

Object = Mapping[str, Any]


def going(api: Api, deployment: str) -> bool:
    """Whether the Deployment is deleted. One whose deletion is in the foreground is there until its pods are gone."""
    try:
        found = api.ask("GET", f"/apis/apps/v1/namespaces/{api.namespace}/deployments/{deployment}")
    except FileNotFoundError:
        return True
    return bool(found["metadata"].get("deletionTimestamp"))


def left(volumes: Iterable[Object], claims: Iterable[Object]) -> list[str]:
    """Names of the volumes that are to go with claims which are gone. Pure."""
    there = {each["metadata"]["uid"] for each in claims}
    return sorted(each["metadata"]["name"] for each in volumes if _goes(each) and _claim(each) not in there)


def _goes(volume: Object) -> bool:
    made = PROVISIONED in (volume["metadata"].get("annotations") or {})
    return made and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete" and bool(_claim(volume))


def _claim(volume: Object) -> str:
    return str((volume["spec"].get("claimRef") or {}).get("uid") or "")


def wait(
    reach: Callable[[], Api], deployment: str, seconds: float, pause: Callable[[float], None] = time.sleep
) -> None:
    """Looks every so many seconds, and says what it waits for each time that it is something else."""
    told = ""
    while True:
        try:
            api = reach()
            if not going(api, deployment):
                return
            # Volumes first: one that is made after that is of a claim that is there.
            volumes = api.ask("GET", "/api/v1/persistentvolumes")["items"]
            found = left(volumes, api.ask("GET", "/api/v1/persistentvolumeclaims")["items"])
            if not found:
                return
            said = f"waiting for the driver to remove {', '.join(found)}"
        except (OSError, HTTPException, ValueError) as error:
            said = f"cannot ask the API server: {error}"
        if said != told:
            told = said
            print(said, file=sys.stderr, flush=True)
        pause(seconds)


def main(words: Sequence[str]) -> None:
    """Does nothing until it is asked to end."""
    # Blocked, it is kept for sigwait; a first process of a container does not get it without a handler otherwise.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--identity", type=Path, required=True, help="directory of the service account's token and CA")
    parser.add_argument("--deployment", required=True, help="name of the Deployment that this runs in")
    parser.add_argument("--look-seconds", type=float, required=True, help="seconds between two checks")
    asked = parser.parse_args(list(words))
    print("waiting until namespaces and volumes are deleted", flush=True)
    signal.sigwait({signal.SIGTERM})
    # A token in a file is replaced before it ends, so that it is read each time.
    wait(lambda: Api.inside(asked.identity), asked.deployment, asked.look_seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
