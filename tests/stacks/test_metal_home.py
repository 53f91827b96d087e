"""Homes on NFS: the machine that serves them, what the planner says of it, and the claims of namespaces (G12)."""

from typing import Any

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph.harness import Recorded
from tests.graph.stackfiles import registered, stack_config
from tests.planner.stacks import metal_plan_of
from tests.stacks.lustre_stack import with_lustre
from tests.stacks.test_metal import machines, told

DISKS = [f"/dev/disk/by-path/pci-0000:{number:02x}:00.0-nvme-1" for number in range(0x81, 0x85)]
SERVER: dict[str, Any] = {
    "name": "homes",
    "storage": "nfs",
    "address": "10.20.0.41",
    "hostKeys": [f"ssh-ed25519 {'H' * 68}"],
    "serials": ["SX9R41"],
    "allowFormat": ["SX9R41"],
    "disks": DISKS,
}
TEAMS = [{"name": "vision", "queue": "vision", "gpus": 2, "members": [{"role": "operator", "group": "leads"}]}]


def with_home(config: dict[str, Any] | None = None, **server: Any) -> dict[str, Any]:
    """The committed stack with a machine of homes and a team; `server` changes the machine."""
    found = {**(config or stack_config("metal"))}
    listed = found["gpucluster:inventory"]
    queues = [*found["gpucluster:scheduling"]["queues"], {"name": "vision", "weight": 1, "gpus": 2}]
    return {
        **found,
        "gpucluster:inventory": {**listed, "hosts": [*listed["hosts"], {**SERVER, **server}]},
        "gpucluster:storage": {**found["gpucluster:storage"], "home": {"server": "MDS 8x3.84TB 200GbE"}},
        "gpucluster:scheduling": {**found["gpucluster:scheduling"], "queues": queues},
        "gpucluster:teams": TEAMS,
    }


def deployed(config: dict[str, Any] | None = None) -> Recorded:
    return registered(config or with_home(), stack="metal")


def said(config: dict[str, Any]) -> list[tuple[str, str]]:
    rules = ("home-drives", "nfs-training-data", "machines-counted", "storage-network")
    found = [each for each in metal_plan_of(config).findings if each.rule in rules]
    return [(each.rule, each.path.removeprefix("gpucluster:")) for each in found]


def test_its_machine_is_told_its_drives_and_a_directory_for_each_namespace() -> None:
    graph = deployed()
    found = told("homes", graph)
    assert found["HOME_VDEVS"].split() == ["mirror", *DISKS[:2], "mirror", *DISKS[2:]]
    assert found["HOME_DIRECTORIES"] == "training team-vision"
    assert (found["HOME_CLIENTS"], found["ALLOW_FORMAT"]) == ("10.20.0.0/22", "SX9R41")
    assert {"zfsutils-linux=", "nfs-kernel-server="} <= set(found["PACKAGES"].split())
    assert str(machines(graph)["homes"].inputs["stdin"]).rstrip().endswith(" nfs-server")


@pytest.mark.parametrize("host", ["cp-1", "dgx-01"])
def test_nodes_have_the_client(host: str) -> None:
    assert "nfs-common=" in told(host, deployed())["PACKAGES"].split()


def test_each_namespace_has_a_claim_on_its_own_directory_once_it_is_served() -> None:
    graph = deployed()
    server = machines(graph)["homes"].urn
    for namespace in ("training", "team-vision"):
        (volume,) = (
            each for each in graph.of_type("PersistentVolume") if each.name.endswith(f"{namespace}-home-volume")
        )
        assert volume.inputs["spec"]["nfs"] == {"server": "10.20.0.41", "path": f"/srv/home/{namespace}"}
        assert volume.inputs["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        assert server in volume.depends_on
    assert [str(each) for each in violations(graph, RULES)] == []


def test_without_the_section_nobody_has_a_home() -> None:
    graph = deployed(stack_config("metal"))
    assert not [each for each in graph.of_type("PersistentVolume") if "home" in each.name]
    assert "nfs-common=" not in told("cp-1", graph)["PACKAGES"].split()


def test_homes_stand_beside_servers_of_lustre() -> None:
    graph = deployed(with_home(with_lustre()))
    assert "LUSTRE_TARGETS" not in told("homes", graph)
    assert told("oss-1", graph)["LUSTRE_TARGETS"]
    assert said(with_home(with_lustre())) == []


@pytest.mark.parametrize(
    "disks", [[], DISKS[:3], [*DISKS, *(f"{disk}-b" for disk in DISKS), "/dev/disk/by-id/x9", "/dev/disk/by-id/x10"]]
)
def test_drives_that_make_no_mirrors_are_refused(disks: list[str]) -> None:
    place = len(stack_config("metal")["gpucluster:inventory"]["hosts"])
    assert said(with_home(disks=disks)) == [("home-drives", f"inventory.hosts[{place}].disks")]


def test_a_server_without_a_machine_is_refused() -> None:
    config = with_home()
    config["gpucluster:inventory"] = stack_config("metal")["gpucluster:inventory"]
    assert said(config) == [("machines-counted", "storage.home")]


def test_training_data_are_not_for_nfs() -> None:
    config = stack_config("metal")
    assert said(config) == []
    nfs = {"sharedFiles": {"kind": "nfs", "source": "nas.hall-2.example.com:/export"}}
    found = metal_plan_of(config | {"gpucluster:inventory": config["gpucluster:inventory"] | nfs})
    (told_,) = (each for each in found.findings if each.rule == "nfs-training-data")
    assert (told_.severity, told_.path) == ("warning", "gpucluster:inventory.sharedFiles.kind")
    assert "llama-3-70b-pretrain" in told_.sentence
