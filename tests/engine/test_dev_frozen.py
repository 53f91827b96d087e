"""A part of a site that stands still is named, and the site with all it holds is left alone (LF28)."""

import json
import os
import signal

import pytest

from rehearsal import sites

from .rehearsed import Rehearsed, command

pytestmark = pytest.mark.engine


def test_a_frozen_api_server_is_named_and_its_site_stays_as_it_is_lf28(dev: Rehearsed) -> None:
    pid = json.loads((dev.kubeconfig.parent / "processes.json").read_text())["kube-apiserver"]["pid"]
    held, home = dict(dev.inventory()), dev.directory.path.parents[2]
    os.kill(pid, signal.SIGSTOP)
    try:
        done = command(home, "preview", "--root", str(dev.tree.root))
    finally:
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == 1, done.stdout
    assert "rehearsal dev runs, but the API server of its cluster us-east-2/gpucluster-dev did not" in done.stdout
    assert f"kube-apiserver (pid {pid}) is stopped, `kill -CONT {pid}` resumes it" in done.stdout
    assert "Nothing was discarded: try again when it answers." in done.stdout
    now = sites.status(dev.directory.path)
    assert (now.state, now.site) == (sites.State.RUNNING, dev.session.site)
    assert dict(dev.inventory()) == held
    dev.settled()
    dev.assert_quiet()
