"""Containers whose real script runs: it calls the real API server, and other servers through the cluster's proxy.

What a script waits for by its command line it waits for in the kubelet's faster time, as simulated processes live by
that.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import TIME_SCALE, Ends, Exit, Launch, Program

_WAITS = ("--least-seconds", "--calm-seconds", "--look-seconds")


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
    return RealProcess(
        launch, Path(sys.executable), [scaled(word) for word in launch.argv[1:]], {}, env, own_words=True
    )


def scaled(word: str) -> str:
    """A word of the command line, its seconds as few as they are here. Pure."""
    flag, _, value = word.partition("=")
    return f"{flag}={float(value) / TIME_SCALE:g}" if flag in _WAITS else word
