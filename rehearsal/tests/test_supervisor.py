"""A site starts detached, is recognised whatever became of it, and leaves nothing running."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal import places, processes, procfs, sites
from rehearsal.places import SiteDirectory
from rehearsal.processes import Identity, Process
from rehearsal.sites import Site, State
from rehearsal.tests.inside.account import until
from rehearsal.toolchain import ensure

REGION, USERS_OWN = "us-east-1", "the user's own secret"
OTHER_BOOT = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Identity]:
    """Some process that runs."""
    process = Process("p", [sys.executable, "-c", "import time; time.sleep(600)"], log=tmp_path / "p.log")
    yield process.start()
    process.stop(0.2)


def record(directory: Path, supervisor_: Identity, cloud: Identity, **more: str) -> None:
    value = {
        "supervisor": supervisor_.record(),
        "cloud": {"url": "http://127.0.0.1:1", **cloud.record()},
        "created": "2026-01-01T00:00:00+00:00",
    }
    places.write_json(SiteDirectory(directory).record, value | more)


def altered(identity: Identity, ticks: int = 0, boot: str = "") -> Identity:
    """The same pid at another time: `ticks` later, or in another boot."""
    started, _, own = identity.started.partition("@")
    return Identity(identity.pid, f"{int(started) + ticks}@{boot or own}")


def test_nothing_was_started(tmp_path: Path) -> None:
    assert sites.status(tmp_path).state is State.ABSENT
    assert sites.stop(tmp_path) is False


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cloud": 1}', '{"cloud": {"url": "x"}, "supervisor": {}}'])
def test_a_record_that_makes_no_sense_is_no_site(tmp_path: Path, content: str) -> None:
    SiteDirectory(tmp_path).record.write_text(content)
    assert sites.status(tmp_path).state is State.ABSENT
    sites.stop(tmp_path)
    assert not SiteDirectory(tmp_path).record.exists()


def test_a_site_whose_processes_run_is_running(tmp_path: Path, living: Identity) -> None:
    record(tmp_path, living, living)
    now = sites.status(tmp_path)
    assert now.state is State.RUNNING
    assert now.site is not None
    assert now.site.cloud_url == "http://127.0.0.1:1"


def test_a_supervisor_that_is_starting_is_seen(tmp_path: Path, living: Identity) -> None:
    places.write_json(SiteDirectory(tmp_path).lock, living.record())
    assert sites.status(tmp_path).state is State.STARTING
    with pytest.raises(processes.StartError, match="is starting for another command: wait for that one, or stop it"):
        sites.start(tmp_path, tmp_path)


def test_a_process_that_died_a_reused_pid_and_a_reboot_are_told_apart(tmp_path: Path, living: Identity) -> None:
    gone = Identity(2**22 + 1, living.started)
    for supervisor_, cloud, reason in (
        (gone, living, rf"the supervisor \(pid {gone.pid}\) ended unexpectedly$"),
        (living, gone, rf"the AWS stand-in \(pid {gone.pid}\) ended unexpectedly$"),
        (altered(living, ticks=-1), living, "ended unexpectedly, and its pid belongs to another process now"),
        (altered(living, boot=OTHER_BOOT), altered(living, boot=OTHER_BOOT), "the machine was restarted since"),
    ):
        record(tmp_path, supervisor_, cloud)
        now = sites.status(tmp_path)
        assert now.state is State.DEAD
        assert re.search(reason, now.reason), now.reason


def test_what_the_supervisor_said_when_its_account_died_is_told(tmp_path: Path, living: Identity) -> None:
    record(tmp_path, living, living, ended="the AWS stand-in ended with status -9")
    now = sites.status(tmp_path)
    assert (now.state, now.reason) == (State.DEAD, "the AWS stand-in ended with status -9")


def test_a_process_that_only_has_the_recorded_pid_is_not_stopped(tmp_path: Path, living: Identity) -> None:
    other = altered(living, ticks=-1)
    record(tmp_path, other, other)
    assert sites.stop(tmp_path) is False
    assert living.alive()
    assert not SiteDirectory(tmp_path).record.exists()


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", USERS_OWN)
    ensure(report=lambda _: None)
    yield tmp_path / "site"
    sites.stop(tmp_path / "site")


def aws(site: Site, service: str) -> Any:
    return site.account.client(service, REGION)


def make_cluster(site: Site, name: str = "one") -> None:
    ec2, iam = aws(site, "ec2"), aws(site, "iam")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{i}.0/24", AvailabilityZone=f"{REGION}{zone}")["Subnet"][
            "SubnetId"
        ]
        for i, zone in enumerate("ab")
    ]
    trust = (
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow",'
        ' "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}]}'
    )
    role = iam.create_role(RoleName="plane", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.attach_role_policy(RoleName="plane", PolicyArn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy")
    aws(site, "eks").create_cluster(
        name=name,
        roleArn=role,
        resourcesVpcConfig={"subnetIds": subnets},
        accessConfig={"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
    )


def cluster_status(site: Site, name: str = "one") -> str:
    eks = aws(site, "eks")
    try:
        return str(eks.describe_cluster(name=name)["cluster"]["status"])
    except eks.exceptions.ResourceNotFoundException:
        return "GONE"


def identities(site: Site) -> list[Identity]:
    """Every process of a site that runs now."""
    found = [Identity.of(pid) for pid in procfs.tree(site.supervisor.pid)]
    return [identity for identity in found if identity is not None]


@pytest.mark.engine
def test_a_site_lives_gives_clusters_their_control_planes_and_leaves_nothing(directory: Path) -> None:
    site = sites.start(directory, directory)
    assert sites.start(directory, directory) == site, "a second start finds the first"
    make_cluster(site)
    assert cluster_status(site) == "CREATING"
    until(lambda: cluster_status(site) == "ACTIVE", 60, "the cluster is ACTIVE")
    described = aws(site, "eks").describe_cluster(name="one")["cluster"]
    assert described["endpoint"].startswith("https://127.0.0.1:")
    plane = site.directory.cluster(REGION, "one")
    assert described["endpoint"] not in (plane / "kubeconfig").read_text(), "its front is the way in"
    running = identities(site)
    assert len(running) >= 7
    for identity in running:
        assert USERS_OWN not in Path(f"/proc/{identity.pid}/environ").read_text()

    aws(site, "eks").delete_cluster(name="one")
    until(lambda: cluster_status(site) == "GONE", 60, "the cluster is gone")
    assert not plane.exists()
    assert len(identities(site)) == 2, "the supervisor and the account"

    assert sites.stop(directory) is True
    assert not any(identity.alive() for identity in running)
    assert sites.status(directory).state is State.ABSENT


@pytest.mark.engine
def test_a_killed_supervisor_leaves_no_child_and_the_next_start_is_clean(directory: Path) -> None:
    site = sites.start(directory, directory)
    make_cluster(site)
    until(lambda: cluster_status(site) == "ACTIVE", 60, "the cluster is ACTIVE")
    running = identities(site)
    assert len(running) >= 7
    os.kill(site.supervisor.pid, signal.SIGKILL)
    until(lambda: not any(identity.alive() for identity in running), 60, "all have ended")
    now = sites.status(directory)
    assert now.state is State.DEAD
    assert f"the supervisor (pid {site.supervisor.pid}) ended unexpectedly" in now.reason

    again = sites.start(directory, directory)
    assert again.supervisor != site.supervisor
    assert cluster_status(again) == "GONE"
    assert not list(again.directory.clusters.iterdir())


@pytest.mark.engine
def test_when_the_account_dies_everything_ends_and_the_reason_is_recorded(directory: Path) -> None:
    site = sites.start(directory, directory)
    make_cluster(site)
    until(lambda: cluster_status(site) == "ACTIVE", 60, "the cluster is ACTIVE")
    running = identities(site)
    os.kill(site.cloud.pid, signal.SIGKILL)
    until(lambda: not any(identity.alive() for identity in running), 60, "all have ended")
    now = sites.status(directory)
    assert (now.state, now.reason) == (State.DEAD, "the AWS stand-in ended with status -9")


@pytest.mark.engine
@pytest.mark.scale
def test_two_sites_run_side_by_side(directory: Path, tmp_path: Path) -> None:
    one, two = sites.start(directory, tmp_path), sites.start(tmp_path / "other", tmp_path)
    try:
        assert one.cloud_url != two.cloud_url
        make_cluster(one)
        until(lambda: cluster_status(one) == "ACTIVE", 60, "the cluster is ACTIVE")
        assert cluster_status(two) == "GONE"
        assert sites.stop(directory) is True
        assert sites.status(tmp_path / "other").state is State.RUNNING
    finally:
        sites.stop(tmp_path / "other")
