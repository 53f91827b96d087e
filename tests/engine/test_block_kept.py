"""Two capacity blocks under one gang, from before their start until after their end, with nobody at a laptop (PF10);
beside them a team and an image repository.

Engine, cluster and its controllers are the real ones; the function comes from the account, its clock from the test.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cloud.schedules import Schedules
from rehearsal.kubelet.contents import Contents

from .rehearsed import Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

FIRST, SECOND = "cr-0123456789abcdef0", "cr-0123456789abcdef1"
RUN = "llama-3-8b-sft"
START = datetime.now(UTC).replace(hour=11, minute=30, second=0, microsecond=0) + timedelta(days=1)
END = START + timedelta(days=1)
SIGNAL = "gpucluster/block-ends"
MEMBERS = [{"role": "trainer", "arn": "arn:aws:iam::123456789012:role/alice"}, {"role": "viewer", "group": "research"}]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rehearsed, Schedules]]:
    """The dev stack with its training pool in two blocks of one node that begin tomorrow, and a keeper of blocks."""
    directory = tmp_path_factory.mktemp("kept")
    tree = Tree.copy(directory / "tree")
    days = {"zone": "use2-az1", "start": str(START.date()), "end": str(END.date()), "count": 1}
    stack = tree.stack("dev")
    for path, value in {
        "pools[1].instanceType": "p5.48xlarge",
        "pools[1].count": 2,
        "pools[1].capacity": "capacity-block",
        "pools[1].reservations": [{"id": FIRST, **days}, {"id": SECOND, **days}],
        "training.runs[0].checkpoint": {"everyMinutes": 60, "withinSeconds": 60},
        "serving.services": [],
        "keeper": {"blocks": True},
        "scheduling.queues": [{"name": "training", "weight": 4}, {"name": "vision", "gpus": 2}],
        "registry": {"repositories": [{"name": "ml/llama-trainer"}]},
        "teams": [{"name": "vision", "queue": "vision", "gpus": 2, "members": MEMBERS}],
        "budget.maxHourlyUsd": 900,
    }.items():
        stack.set(f"gpucluster:{path}", value)
    with rehearsed("kept", tree, directory / "state") as site:
        site.up().require()
        clock = Schedules(site.session.site.account, site.region, START - timedelta(minutes=4))
        yield site, clock
        clock.close()


def at(kept: tuple[Rehearsed, Schedules], moment: datetime) -> None:
    """Let the clock run there; hours in which nothing happens are left out."""
    _, clock = kept
    clock.now = max(clock.now, moment - timedelta(minutes=3))
    clock.run(moment)


def nodes(site: Rehearsed) -> list[dict[str, Any]]:
    found = site.kube.list("v1", "Node")
    return [each for each in found if each["metadata"]["labels"].get("gpucluster/pool") == "training"]


def gang(site: Rehearsed, phase: str) -> list[dict[str, Any]]:
    pods = site.kube.list("v1", "Pod", "training", label_selector=f"gpucluster/run={RUN}")
    alive = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    return [pod for pod in alive if pod["status"]["phase"] == phase]


def newest(site: Rehearsed) -> int:
    """The step of the newest whole save on the file system."""
    files = Contents(site.kubeconfig.with_name("effects") / "volumes.json")
    names = [name for volume in files.volumes("") for name in files.under(volume, "")]
    return max(int(found[1]) for name in names if (found := re.search(r"/step-(\d+)/SHA256SUMS$", name)))


def test_a_tag_of_an_own_image_never_moves(kept: tuple[Rehearsed, Schedules]) -> None:
    site, _ = kept
    ecr, (name,) = site.aws("ecr"), site.outputs()["storage"]["repositories"]
    assert name == "ml/llama-trainer"
    (held,) = ecr.describe_repositories()["repositories"]
    assert held["repositoryUri"] == site.outputs()["storage"]["repositories"][name]
    pushed = {"repositoryName": held["repositoryName"], "imageTag": "1.0"}
    ecr.put_image(**pushed, imageManifest=manifest("one"))
    with pytest.raises(ClientError, match="ImageTagAlreadyExistsException"):
        ecr.put_image(**pushed, imageManifest=manifest("two"))


def test_people_of_a_team_are_known_to_the_cluster(kept: tuple[Rehearsed, Schedules]) -> None:
    site, _ = kept
    eks = site.aws("eks")
    (cluster,) = eks.list_clusters()["clusters"]
    entry = eks.describe_access_entry(clusterName=cluster, principalArn=MEMBERS[0]["arn"])["accessEntry"]
    assert entry["kubernetesGroups"] == ["gpucluster:vision:trainer"]
    space = site.kube.get("v1", "Namespace", "team-vision") or {}
    assert space["metadata"]["labels"]["gpucluster/queue"] == "vision"


def manifest(content: str) -> str:
    """An image of one layer."""
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    layer = {"mediaType": kind, "size": 1, "digest": f"sha256:{sha256(content.encode()).hexdigest()}"}
    return json.dumps({"schemaVersion": 2, "mediaType": kind, "config": layer, "layers": [layer]})


def test_before_the_start_the_gang_waits_and_nothing_is_asked_for(kept: tuple[Rehearsed, Schedules]) -> None:
    site, _ = kept
    at(kept, START - timedelta(minutes=1))
    assert nodes(site) == []
    assert gang(site, "Running") == []


def test_at_the_start_both_groups_are_filled_and_one_gang_runs_over_them(kept: tuple[Rehearsed, Schedules]) -> None:
    site, _ = kept
    at(kept, START + timedelta(minutes=1))
    until(lambda: len(gang(site, "Running")) == 2, "the gang to run")
    groups = {each["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] for each in nodes(site)}
    assert groups == {"training-1", "training-2"}
    assert len({pod["spec"]["nodeName"] for pod in gang(site, "Running")}) == 2


def test_a_preview_while_the_block_runs_has_nothing_to_do(kept: tuple[Rehearsed, Schedules]) -> None:
    kept[0].assert_quiet()


def test_45_minutes_before_the_end_the_gang_is_told_to_save_and_ends(kept: tuple[Rehearsed, Schedules]) -> None:
    site, _ = kept
    at(kept, END - timedelta(minutes=46))
    assert len(gang(site, "Running")) == 2
    before = newest(site)
    at(kept, END - timedelta(minutes=45))
    until(lambda: not gang(site, "Running"), "the pods to end")
    assert newest(site) > before, "the run saved where it was"
    taints = [taint for node in nodes(site) for taint in node["spec"]["taints"] if taint["key"] == SIGNAL]
    assert [taint["effect"] for taint in taints] == ["NoExecute"] * 2
    assert len(nodes(site)) == 2, "they are emptied five minutes later"


def test_40_minutes_before_the_end_the_nodes_go(kept: tuple[Rehearsed, Schedules]) -> None:
    site, _ = kept
    at(kept, END - timedelta(minutes=40))
    until(lambda: not nodes(site), "the nodes to go")
    held = site.aws("ec2").describe_capacity_reservations(CapacityReservationIds=[FIRST, SECOND])
    assert [each["AvailableInstanceCount"] for each in held["CapacityReservations"]] == [1, 1]


def test_after_the_end_nothing_is_left_of_the_signal(kept: tuple[Rehearsed, Schedules]) -> None:
    site, _ = kept
    at(kept, END + timedelta(minutes=3))
    eks = site.aws("eks")
    (cluster,) = eks.list_clusters()["clusters"]

    def cleaned() -> bool:
        groups = [
            eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
            for name in ("training-1", "training-2")
        ]
        clean = [SIGNAL not in [taint["key"] for taint in each["taints"]] for each in groups]
        return all(clean) and all(each["scalingConfig"]["desiredSize"] == 0 for each in groups)

    until(cleaned, "the node groups to be clean")
