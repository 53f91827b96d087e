"""Racked hosts of a stack file, as they stand there before it: facts of models, and what is told of each."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.metal_types import MetalPlan
from planner.plan import plan
from rehearsed import account, machines, secrets
from settings.inventory import Inventory
from settings.load import from_sections
from settings.presets import preset, preset_names
from tests.presets import stacks
from tests.stacks.lustre_stack import paired, with_lustre

SHIPPED = (Path(__file__).parents[2] / "Pulumi.metal.yaml").read_text()
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOBr423k5CdPVS29caMcmZjjZkFwXsse9aUvA5svQI0w ops@console"


def text(*hosts: dict[str, Any], **inventory: Any) -> str:
    config = {
        "gpucluster:inventory": {"user": "ops", **inventory, "hosts": list(hosts)},
        "gpucluster:pools": [{"name": "training", "server": "DGX H100"}],
    }
    return yaml.safe_dump({"config": config})


def host(**facts: Any) -> dict[str, Any]:
    return {"name": "dgx-1", "pool": "training", "address": "10.20.0.21", "hostKeys": [KEY], "serials": ["S1"], **facts}


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("dgx-[08-10]", ["dgx-08", "dgx-09", "dgx-10"]),
        ("10.20.0.[9-11]", ["10.20.0.9", "10.20.0.10", "10.20.0.11"]),
        ("cp-1", ["cp-1"]),
        ("n[1-2]-a", ["n1-a", "n2-a"]),
    ],
)
def test_a_range_counts_in_numbers_as_wide_as_its_first(pattern: str, values: list[str]) -> None:
    assert machines.counted(pattern) == values


def test_the_shipped_stack_has_all_of_its_hosts() -> None:
    found = {each.name: each for each in machines.machines(SHIPPED)}
    assert len(found) == 17
    assert found["dgx-08"].address == "10.20.0.28"
    assert found["dgx-08"].serial == "1661923000408"
    assert found["dgx-01"].gpu is not None
    assert (found["dgx-01"].memory_gib, found["cp-1"].memory_gib) == (2048, 256)
    assert found["dgx-01"].cards[0].pci == "0000:18:00.0"
    assert [card.infiniband for card in found["dgx-01"].cards] == [True] * 8 + [False]
    assert "/dev/disk/by-path/" + found["dgx-01"].drives[1].path in SHIPPED
    assert found["oss-4"].gpu is None


def test_who_logs_in_is_whom_the_program_takes_where_the_file_names_nobody() -> None:
    named = yaml.safe_load(text(host()))
    del named["config"]["gpucluster:inventory"]["user"]
    (found,) = machines.machines(yaml.safe_dump(named))
    assert found.user == Inventory.model_fields["user"].default == "ubuntu"


def test_a_host_key_is_named_without_its_comment() -> None:
    (found,) = machines.machines(text(host()))
    assert found.host_key == KEY.rpartition(" ")[0]


def test_drivers_are_on_hosts_unless_containers_bring_them() -> None:
    (with_driver,) = machines.machines(text(host()))
    (without,) = machines.machines(text(host(), driver="container"))
    assert with_driver.gpu is not None
    assert with_driver.gpu.driver == "580.126.20"
    assert without.gpu is not None
    assert without.gpu.driver == ""
    assert not without.packages


@pytest.mark.parametrize("changed", [{"hostKeys": []}, {"address": "10.20.0.[21-22]"}, {"name": "dgx-[1-2]"}])
def test_a_list_that_does_not_count_as_many_is_left_for_the_program_to_refuse(changed: dict[str, Any]) -> None:
    assert machines.machines(text(host(**changed))) == ()


def test_a_stack_without_hosts_has_none_of_it() -> None:
    aws = "config: {gpucluster:platform: {kind: aws}}"
    assert machines.machines(aws) == ()
    assert machines.files(aws) == {}
    assert account.content(aws).login == ""
    assert "gpucluster:sshKey" not in secrets.secrets(aws)


def test_hosts_are_logged_in_to_by_a_secret_and_mount_what_holds_the_datasets() -> None:
    found = account.content(SHIPPED)
    assert found.login == "gpucluster:sshKey"
    assert {"gpucluster:sshKey", "gpucluster:clusterKey"} <= set(secrets.secrets(SHIPPED))
    assert len([name for name in found.files["/mnt/shared"] if name.startswith("datasets/web-text/")]) == 64


def test_machines_of_lustre_have_their_storage_network_and_partners_one_enclosure() -> None:
    found = {each.name: each for each in machines.machines(yaml.safe_dump({"config": with_lustre()}))}
    store, node = found["oss-2"], found["dgx-01"]
    assert [card.address for card in store.cards] == ["10.22.0.32", "10.22.1.32", ""]
    assert [card.infiniband for card in store.cards] == [True, True, False]
    assert len(store.drives) == 25
    assert ("lustre-client-modules" in node.packages, "lustre-client-modules" in store.packages) == (True, False)
    assert node.file_systems == ()
    pair = {each.name: each for each in machines.machines(yaml.safe_dump({"config": paired()}))}
    first, second = (
        {(each.enclosure, each.serial) for each in pair[f"mds-{n}"].drives if each.enclosure} for n in (1, 2)
    )
    assert first == second
    assert len(first) == 16


def test_what_somebody_else_serves_is_reached_by_its_name() -> None:
    (found,) = machines.machines(text(host(), sharedFiles={"kind": "nfs", "source": "nas:/x"}))
    assert found.file_systems == ("nas:/x",)
    assert machines.machines(SHIPPED)[0].file_systems == ("10.22.0.11@o2ib:10.22.0.12@o2ib:/shared",)


@pytest.mark.parametrize("name", [each for each in preset_names() if preset(each)["platform"]["kind"] == "metal"])
def test_servers_of_presets_are_what_the_plan_takes_them_for(name: str) -> None:
    """Two tables of makers' data, written apart."""
    planned = plan(from_sections(stacks.sections(name)))
    assert isinstance(planned, MetalPlan)
    found = {each.name: each for each in account.content(stacks.text(name)).machines}
    for host in stacks.sections(name)["inventory"]["hosts"]:
        machine, pool = found[host["name"]], planned.pools.get(str(host.get("pool")))
        if pool is None:
            continue
        assert (machine.cores, machine.memory_gib) == (pool.server.cpu.threads, pool.server.memory_gib), host["name"]
        gpu = machine.gpu and (machine.gpu.product.replace(" ", "-"), machine.gpu.count)
        assert gpu == (pool.server.gpu and (pool.server.gpu.product, pool.server.gpu_count))
