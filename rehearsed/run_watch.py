"""The container `run-watch`: its own script runs, asks the real API server, and runs by the cluster's proxy.

A run may stand for as long as the script is told, in the kubelet's faster time, as simulated processes live by that.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from rehearsal.kube.client import Kube
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

NAMESPACE, KEPT = "training", "run-failures"
_LEAST = "--least-seconds="


def run(launch: Launch) -> Program:
    """The real script on this machine; ends as a shell does where the container starts something else."""
    if len(launch.argv) < 2 or launch.argv[0] != "python3":
        return Ends(launch.now, Exit(127, f"{' '.join(launch.argv[:1])}: not found"))
    api = urlsplit(launch.world.endpoint)
    env = {
        "KUBERNETES_SERVICE_HOST": api.hostname or "",
        "KUBERNETES_SERVICE_PORT": str(api.port),
        "http_proxy": launch.world.proxy.url,
    }
    return RealProcess(launch, Path(sys.executable), [scaled(word) for word in launch.argv[1:]], {}, env)


def scaled(word: str) -> str:
    """A word of the command line, its seconds as few as they are here. Pure."""
    if not word.startswith(_LEAST):
        return word
    return f"{_LEAST}{float(word.removeprefix(_LEAST)) / TIME_SCALE:g}"


def failed(kube: Kube) -> Sequence[str]:
    """The last failure of each run, as it is kept in the cluster, in a sentence."""
    kept = kube.get("v1", "ConfigMap", KEPT, NAMESPACE) or {}
    newest = [(run, json.loads(text)[-1]) for run, text in sorted((kept.get("data") or {}).items())]
    return [f"run {run} failed at {each['at']}: {each['sentence']}" for run, each in newest]
