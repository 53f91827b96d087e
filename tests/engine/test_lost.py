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
pytestmark = [pytest.mark.engine, pytest.mark.scale]

CLUSTER, RUN = "gpucluster-dev", "pytorchjob training/llama-3-8b-sft"


@pytest.fixture
def whole(survivor: Survivor) -> Survivor:
    survivor.converge()
    survivor.whole = False
    return survivor


def mended(survivor: Survivor) -> None:
    """As a person is told to do it."""
    shown = survivor.command("refresh")
    assert shown.returncode == 1, "without a terminal nobody said yes"
    begun = "refresh: differences from the state; nothing is changed yet"
    asked = "nothing was done: `make refresh STACK=dev YES=1` writes it to the state"
    differences = shown.stdout.partition(begun)[2].partition(asked)[0]
    assert asked in shown.stdout
    assert re.search(r"^  delete \S+ \S+$", differences, re.MULTILINE), "nothing was shown before the question"
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


def test_15_a_secret_is_missed_by_name(whole: Survivor) -> None:
    name = keys(whole.site)[0]
    whole.site.kubectl("-n", "inference", "delete", "secret", name)
    complaint(whole, f"secret inference/{name}")
    mended(whole)
    assert whole.site.kube.get("v1", "Secret", name, "inference") is not None


def test_16_a_node_group_is_missed_by_name(whole: Survivor) -> None:
    eks = whole.site.aws("eks")
    eks.delete_nodegroup(clusterName=CLUSTER, nodegroupName="training")
    until(lambda: "training" not in eks.list_nodegroups(clusterName=CLUSTER)["nodegroups"], "the group to be gone")
    complaint(whole, rf"nodegroup {CLUSTER}/training \(pool-training-nodes\)")
    mended(whole)
    assert "training" in eks.list_nodegroups(clusterName=CLUSTER)["nodegroups"]


def test_17_a_file_system_and_a_namespace_with_its_gang_are_missed_by_name(whole: Survivor) -> None:
    fsx = whole.site.aws("fsx")
    (system,) = [each["FileSystemId"] for each in fsx.describe_file_systems()["FileSystems"]]
    whole.site.kubectl("delete", "namespace", "training", "--wait=true", "--timeout=120s")
    fsx.delete_file_system(FileSystemId=system)
    until(lambda: not fsx.describe_file_systems()["FileSystems"], "the file system to be gone")
    complaint(whole, f"file system {system}", "namespace training", RUN)
    mended(whole)
    assert whole.site.settled().gangs[0].running == 2
