"""What is deleted behind the stack's back is named by `up` and `status`, and a refresh, then `up`, recreates it.

Before, an `up` after such a deletion said that nothing changed, and ended well.
"""

import json
import re

import pytest

from rehearsal.engine import declared

from .rehearsed import Rehearsed, until
from .survivor import Survivor

pytest_plugins = ["tests.engine.survivor_fixture"]
pytestmark = pytest.mark.engine

CLUSTER, RUN = "gpucluster-dev", "pytorchjob training/llama-3-8b-sft"


def mended(survivor: Survivor) -> None:
    """As a person is told to do it."""
    shown = survivor.command("refresh")
    assert shown.returncode == 1, "without a terminal nobody said yes"
    assert "nothing was done: `make refresh STACK=dev YES=1` writes it to the state" in shown.stdout
    assert survivor.command("refresh", "--yes").returncode == 0
    done = survivor.command("up")
    assert done.returncode == 0, done.stdout
    survivor.applied()


def complaint(survivor: Survivor, *words: str) -> None:
    """Both `up` and `status` end with 1, and each of these is named."""
    for command in ("up", "status"):
        done = survivor.command(command)
        assert done.returncode == 1, done.stdout
        for each in words:
            assert re.search(rf"{each}.* is declared.* but missing", done.stdout), (command, each, done.stdout)


def keys(site: Rehearsed) -> list[str]:
    """Names of the Secrets that the program declared for its servers."""
    latest = json.loads(site.state_text())["checkpoint"]["latest"]
    objects = declared.declared({"deployment": latest})
    return [each.name for each in objects if (each.kind, each.namespace) == ("Secret", "inference")]


def test_15_16_17_each_thing_that_was_deleted_is_missed_by_name(survivor: Survivor) -> None:
    """A Secret, a node group, a file system, and the namespace of a gang."""
    survivor.converge()
    survivor.whole = False
    site, (secret, *_) = survivor.site, keys(survivor.site)
    eks, fsx = site.aws("eks"), site.aws("fsx")
    (system,) = [each["FileSystemId"] for each in fsx.describe_file_systems()["FileSystems"]]
    site.kubectl("-n", "inference", "delete", "secret", secret)
    site.kubectl("delete", "namespace", "training", "--wait=true", "--timeout=120s")
    eks.delete_nodegroup(clusterName=CLUSTER, nodegroupName="training")
    fsx.delete_file_system(FileSystemId=system)
    until(lambda: not fsx.describe_file_systems()["FileSystems"], "the file system to be gone")
    until(lambda: "training" not in eks.list_nodegroups(clusterName=CLUSTER)["nodegroups"], "the group to be gone")
    group = rf"nodegroup {CLUSTER}/training \(pool-training-nodes\)"
    complaint(survivor, f"secret inference/{secret}", group, f"file system {system}", "namespace training", RUN)
    mended(survivor)
    assert site.settled().gangs[0].running == 2
    assert secret in keys(site)
    assert site.kube.get("v1", "Secret", secret, "inference") is not None
    assert "training" in eks.list_nodegroups(clusterName=CLUSTER)["nodegroups"]
