"""Whether the parts of a site that runs answer. One that is slow is named and left alone: all it holds is in memory."""

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path

import urllib3
from rich.console import Console

from rehearsal import procfs
from rehearsal.engine.table import say
from rehearsal.keys import Account
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.sites import Site

PATIENCE_SECONDS = 30.0
"""How long a part may take to answer: a busy machine, or an API server that just starts again."""
HALTED_SECONDS = 2.0
"""How long one is asked when a process of the site is known to stand still."""


def trouble(site: Site, kubeconfigs: Mapping[str, Path]) -> str:
    """Which parts do not answer, what is known of them and what to type; empty if all do (LF28)."""
    halted = procfs.halted(site.supervisor.pid)
    patience = HALTED_SECONDS if halted else PATIENCE_SECONDS
    silent = [] if _account_answers(site.account, patience) else [f"its AWS account ({site.cloud_url})"]
    silent += [
        f"the API server of its cluster {label}"
        for label, path in kubeconfigs.items()
        if not _cluster_answers(path, patience)
    ]
    if not silent:
        return ""
    stopped = (f"{name} (pid {pid}) is stopped, `kill -CONT {pid}` resumes it" for pid, name in halted.items())
    silence = f"{' and '.join(silent)} did not answer within {patience:.0f} s"
    return (
        f"rehearsal {site.directory.path.name} runs, but {'; '.join([silence, *stopped])}. Nothing was discarded:"
        f" try again when it answers. `kill {site.supervisor.pid}` ends this rehearsal permanently; the next `up`"
        f" then starts clean."
    )


def given_up(console: Console, trouble: str, name: str) -> bool:
    """Whether a person at a terminal gives the site up after all; nobody is asked elsewhere."""
    if not (console.is_terminal and sys.stdin.isatty()):
        return False
    say(console, f"  {trouble}", "yellow")
    return input(f"Type {name} to discard it and start clean; anything else keeps it: ") == name


def _account_answers(account: Account, patience: float) -> bool:
    try:
        return account.ask("GET", "health", timeout=patience).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def _cluster_answers(kubeconfig: Path, patience: float) -> bool:
    """Whether an API server answers at all; what it answers is not of interest here."""
    try:
        with contextlib.closing(Kube.from_kubeconfig(str(kubeconfig))) as kube:
            kube.patient(patience).call("GET", "/readyz", timeout=patience)
    except Unreachable:
        return False
    except (ApiError, ValueError):
        return True
    return True
