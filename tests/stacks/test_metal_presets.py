"""Every preset of on-premises machines is deployed by the real program once it is told which machines those are."""

import re
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalogue.storage_servers import STORAGE_SERVERS
from components.metal.bundle import CONCERNS
from components.metal.object_store import SECRET
from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.site import SitePlan
from policy import RULES
from policy.rule import violations
from settings.load import from_sections
from settings.presets import preset, preset_names
from tests.graph.harness import Recorded
from tests.graph.stackfiles import refusal, run_program
from tests.stacks.connections import End, Network
from tests.stacks.test_metal import machines

LIFECYCLE = {"owner": "ml-platform", "costCentre": "research"}
METAL = [name for name in preset_names() if preset(name)["platform"]["kind"] == "metal"]
STORE = {"endpoint": "https://s3.hall.net", "bucket": "gpucluster-lab", "cidrs": ["198.18.7.0/28"]}
SHARED = {"kind": "nfs", "source": "nas.hall.net:/export"}


def test_the_presets_are_the_source_systems_the_tiers_and_the_labs() -> None:
    assert set(METAL) == {"budget", "full", "h100-64n", "h100-8n", "h200-32n", "lab-metal", "lab-vm", "mid", "slurm-8n"}


def bare(name: str) -> dict[str, Any]:
    """A preset with an owner, as a stack file has it."""
    return {"preset": name, "example": True, "lifecycle": LIFECYCLE}


@cache
def planned(name: str) -> MetalPlan:
    found = plan(from_sections(bare(name)))
    assert isinstance(found, MetalPlan)
    return found


def inventory(name: str) -> dict[str, Any]:
    """Machines for everything that the preset counts, at addresses one after the other."""
    settings = from_sections(bare(name))
    assert settings.platform.kind == "metal"
    own, bmc = IPv4Network(settings.platform.management_cidr), IPv4Network(settings.platform.bmc_cidr)
    wanted = [({"pool": pool.name}, pool.count) for pool in settings.pools]
    roles: dict[str, int] = {}
    for each in settings.storage.servers:
        roles[each.role] = roles.get(each.role, 0) + each.count
    wanted += [({"storage": role}, count) for role, count in roles.items()]
    hosts, at = [], 10
    for what, count in wanted:
        (word,) = what.values()
        for number in range(count):
            serial = f"{word}-{number + 1}"
            drives = (
                STORAGE_SERVERS[settings.storage.ceph.server].drives if word == "osd" and settings.storage.ceph else 0
            )
            hosts.append(
                {
                    **what,
                    **({"disks": [f"/dev/disk/by-path/pci-{bay}" for bay in range(drives)]} if drives else {}),
                    "name": serial,
                    "address": str(own[at]),
                    "bmc": str(bmc[at]),
                    "hostKeys": [f"ssh-ed25519 {'A' * 60}{at:08}"],
                    "serials": [f"SN{at:06}"],
                }
            )
            at += 1
    stores = {"objectStore": STORE} if settings.storage.ceph else {"objectStore": STORE, "sharedFiles": SHARED}
    return {"endpoint": str(own[-3]), "driver": "host", "hosts": hosts, **stores}


def with_machines(name: str) -> tuple[MetalPlan, SitePlan]:
    """The preset's plan with the inventory, and its site."""
    found = plan(from_sections({**bare(name), "inventory": inventory(name)}))
    assert isinstance(found, MetalPlan)
    assert found.site is not None
    return found, found.site


def config(name: str, **changes: Any) -> dict[str, Any]:
    found = {f"gpucluster:{key}": value for key, value in bare(name).items()}
    return {**found, "gpucluster:inventory": inventory(name), **changes, "pulumi:disable-default-providers": ["*"]}


@cache
def deployed(name: str) -> Recorded:
    return run_program(config(name), stack="mine")


@pytest.mark.parametrize("name", METAL)
def test_every_machine_of_the_preset_is_prepared_and_every_run_is_there(name: str) -> None:
    graph, found = deployed(name), planned(name)
    hosts = {each["name"]: each for each in inventory(name)["hosts"]}
    ours = {host: command for host, command in machines(graph).items() if not host.startswith("slurm-")}
    assert set(ours) == set(hosts)
    slurms = found.pools.keys() - found.of_kubernetes.pools.keys()
    for host, command in ours.items():
        text = str(command.inputs["stdin"])
        called = text.rstrip().rpartition("\n")[2].split()[1:]
        assert [each for each in CONCERNS if each in called] == called
        pool = found.pools.get(str(hosts[host].get("pool")))
        gpus = pool.gpus_per_node if pool else 0
        assert ("acs" in called) is bool(gpus)
        assert ("fabric-manager" in called) is (gpus == 8)
        of_ceph = hosts[host].get("storage") == "osd"
        of_slurm = pool is not None and pool.name in slurms
        assert ("slurm-node" in called) is of_slurm
        joins = pool is not None and not of_slurm
        assert ("join" in called or "control-plane" in called) is (joins or of_ceph)
        memory = re.search(r"^GPUCLUSTER_MEMORY_GIB=(\d+)$", text, re.MULTILINE)
        assert memory is not None
        assert int(memory[1]) == (pool.server.memory_gib if pool else 0)
    waits = [str(each.inputs["create"]) for each in graph.of_type("Command") if "kubectl" in str(each.inputs["create"])]
    for name_, pool in found.of_kubernetes.pools.items():
        asked = [len(re.findall(rf" node/{name_}-\d+", words.partition(" && ")[0])) for words in waits]
        assert pool.count in asked
    text = " ".join(each.name for each in graph.resources.values())
    for run in (*found.of_kubernetes.runs, *found.services):
        assert run in text


@pytest.mark.parametrize("name", METAL)
def test_of_ciliums_operators_each_has_a_node_whose_ports_are_free(name: str) -> None:
    """A second one on the only node without taints would wait for good, and `make up` say so."""
    untainted = sum(pool.count for pool in planned(name).pools.values() if pool.role == "system")
    assert deployed(name).one("cilium-release").inputs["values"]["operator"]["replicas"] == min(2, untainted)


@pytest.mark.parametrize("name", METAL)
def test_the_stores_key_is_where_pods_ask_for_it_and_nowhere_else(name: str) -> None:
    """Runs and model servers may ask for it in any stack; Katib's database is copied in Kubeflow's namespace."""
    graph, found = deployed(name), planned(name)
    asked = {
        str(each.inputs["metadata"]["namespace"])
        for each in graph.resources.values()
        if each.token.startswith("kubernetes:") and f"'name': '{SECRET}'" in str(each.inputs.get("spec"))
    }
    kept = {
        str(each.inputs["metadata"]["namespace"])
        for each in graph.of_type("Secret")
        if each.inputs["metadata"]["name"] == SECRET
    }
    assert asked <= kept <= asked | {"training", "inference"}
    assert ("kubeflow" in kept) is bool(found.of_kubernetes.trial_database)


@pytest.mark.parametrize("name", METAL)
def test_a_fabric_of_infiniband_has_its_operator_and_ethernet_none(name: str) -> None:
    fabric = planned(name).of_kubernetes.fabric
    there = [each.name for each in deployed(name).of_type("NicClusterPolicy")]
    assert bool(there) is (fabric is not None and fabric.kind == "infiniband")


@pytest.mark.parametrize("name", METAL)
def test_what_a_preset_lacks_is_refused_with_what_to_write(name: str) -> None:
    without = {key: value for key, value in config(name).items() if key != "gpucluster:inventory"}
    assert "gpucluster:inventory: is missing" in refusal(without, stack="mine")
    whole = inventory(name)
    lacking = {key: value for key, value in whole.items() if key != "objectStore"}
    said = refusal(config(name, **{"gpucluster:inventory": lacking}), stack="mine")
    assert "inventory.objectStore: is missing" in said
    assert "set it" in said
    if "sharedFiles" in whole:
        alone = {key: value for key, value in whole.items() if key != "sharedFiles"}
        said = refusal(config(name, **{"gpucluster:inventory": alone}), stack="mine")
        assert "name each by /dev/disk/by-path, or under inventory.sharedFiles what somebody else serves" in said
    one_less = {**whole, "hosts": whole["hosts"][:-1]}
    said = refusal(config(name, **{"gpucluster:inventory": one_less}), stack="mine")
    assert "name the machines" in said


LAB = Path(__file__).parents[1] / "settings" / "corpus" / "good" / "metal-lab-on-ten-gigabit.yaml"


def test_three_boxes_with_geforce_cards_train_over_ethernet() -> None:
    """Z10: NCCL gets sockets and no InfiniBand; no fabric manager, no slices, no operator for cards that are none."""
    shipped = inventory("lab-metal")
    last = {**shipped["hosts"][2], "name": "training-3", "address": "192.168.10.60", "bmc": "192.168.11.60"}
    last |= {"hostKeys": [f"ssh-ed25519 {'A' * 60}00000060"], "serials": ["SN000060"]}
    own = yaml.safe_load(LAB.read_text(encoding="utf-8"))["config"]
    graph = run_program({**own, "gpucluster:inventory": {**shipped, "hosts": [*shipped["hosts"], last]}}, stack="mine")
    (job,) = graph.of_type("PyTorchJob")
    replicas = job.inputs["spec"]["pytorchReplicaSpecs"]
    assert sum(each["replicas"] for each in replicas.values()) == 3
    for each in replicas.values():
        environment = {one["name"]: one["value"] for one in each["template"]["spec"]["containers"][0]["env"]}
        assert environment["NCCL_IB_DISABLE"] == "1"
        assert environment["NCCL_SOCKET_IFNAME"] == "eth0"
        assert "NCCL_IB_HCA" not in environment
    for command in machines(graph).values():
        called = str(command.inputs["stdin"]).rstrip().rpartition("\n")[2].split()[1:]
        assert "fabric-manager" not in called
    assert not graph.of_type("NicClusterPolicy")


def test_gpus_are_held_at_the_clock_and_the_power_of_their_pool() -> None:
    """AA01, AA02: each machine of the pool sets them at each boot, and no other one."""
    shipped = preset("mid")["pools"]
    limited = [
        {**each, "gpuClockMhz": 1755, "gpuPowerW": 600} if each["role"] == "training" else each for each in shipped
    ]
    graph = run_program(config("mid", **{"gpucluster:pools": limited}), stack="mine")
    for host, command in machines(graph).items():
        told = {
            key: re.findall(rf"^GPUCLUSTER_{key}=(.*)$", str(command.inputs["stdin"]), re.MULTILINE)
            for key in ("GPU_CLOCKS", "GPU_WATTS")
        }
        limits = {"training": ["1755,1755", "600"], "system": ["''", "''"]}.get(host.rpartition("-")[0])
        assert (
            told == {key: [limit] for key, limit in zip(told, limits, strict=True)}
            if limits
            else not any(told.values())
        )


def test_drivers_in_containers_are_replaced_by_people() -> None:
    """K08, L05, KJ33: operators bring GPUs' and cards' drivers, and end no run to bring another version."""
    own = {**inventory("mid"), "driver": "container", "gds": True}
    graph = run_program(config("mid", **{"gpucluster:inventory": own}), stack="mine")
    values = graph.one("gpu-operator-release").inputs["values"]
    assert values["gds"]["enabled"], "G24: what file systems read into GPU memory with"
    driver = values["driver"]
    assert (driver["enabled"], driver["kernelModuleType"]) == (True, "open")
    assert driver["upgradePolicy"] == {"autoUpgrade": False}
    (policy,) = graph.of_type("NicClusterPolicy")
    assert policy.inputs["spec"]["ofedDriver"]["upgradePolicy"] == {"autoUpgrade": False}
    for command in machines(graph).values():
        called = str(command.inputs["stdin"]).rstrip().rpartition("\n")[2].split()[1:]
        assert not {"persistence", "clocks", "fabric-manager"} & set(called)
    limited = [{**each, "gpuPowerW": 600} if each["role"] == "training" else each for each in preset("mid")["pools"]]
    hosts = {"gpucluster:inventory": {**own, "driver": "host"}}
    assert "install nvidia-gds there and remove it" in " ".join(refusal(config("mid", **hosts), stack="mine").split())
    said = refusal(config("mid", **{"gpucluster:inventory": own, "gpucluster:pools": limited}), stack="mine")
    assert "set inventory.driver to host, or remove the key" in " ".join(said.split())


@pytest.mark.parametrize("driver", ["host", "container"])
def test_the_cards_operator_asks_the_api_and_the_registry_of_drivers_it_looks_for_nw08(driver: str) -> None:
    """It lists the tags of the drivers' images (Network Operator, pkg/docadriverimages) where it has any to install."""
    own = {**inventory("mid"), "driver": driver}
    mirror = {"registry": "mirror.example.com:5443/copies"}
    graph = run_program(config("mid", **{"gpucluster:inventory": own, "gpucluster:supply": mirror}), stack="mine")
    assert [str(each) for each in violations(graph, RULES) if "network-" in str(each)] == []
    network = Network(graph)
    api, inside, public = (End(address=each) for each in (own["endpoint"], "198.18.9.9", "52.219.96.10"))
    pod = End(namespace="network-operator", labels={"app.kubernetes.io/name": "network-operator"})
    assert network.isolated(pod) == {"Ingress", "Egress"}
    assert network.passes(pod, api, 6443)
    assert [network.passes(pod, *each) for each in ((inside, 5443), (public, 443))] == [driver == "container"] * 2
    assert not network.passes(pod, inside, 22)
    assert not network.passes(End(namespace="training", labels={"new": "pod"}), pod, 8080)
    assert network.passes(api, pod, 9443), "for who turns the chart's web hook on"
    assert not network.passes(inside, pod, 9443)
