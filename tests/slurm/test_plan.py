"""What Slurm is told of the machines: the plan's numbers, and none that slurmd would refuse."""

import pytest

from catalogue.gpus import GPUS
from catalogue.units import MIB_PER_GIB
from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.slurm import NoSlurmError, detected, plan_slurm
from settings.load import from_sections
from settings.model import MetalSettings
from tests.slurm.stacks import OWNER, as_shipped, planned
from tests.stacks.test_metal_presets import METAL, inventory


@pytest.mark.parametrize("name", METAL)
def test_every_preset_of_own_machines_can_be_slurms(name: str) -> None:
    whole, slurm = as_shipped(name)
    assert {each.pool for each in slurm.nodes} <= set(whole.pools)
    for nodes in slurm.nodes:
        pool = whole.pools[nodes.pool]
        assert (len(nodes.hosts), nodes.gpus) == (pool.count, pool.gpus_per_node)
        assert nodes.sockets * nodes.cores * nodes.threads == pool.server.cpu.threads


def test_memory_is_less_than_any_kernel_shows() -> None:
    """A DGX H100 of 2 TiB shows 2,063,937 MiB; slurmd would refuse it with more than that in slurm.conf."""
    (nodes,) = as_shipped("h200-32n")[1].nodes
    nominal = as_shipped("h200-32n")[0].pools["training"].server.memory_gib * MIB_PER_GIB
    assert nominal * 0.95 < nodes.memory_mib < nominal * 63 / 64
    assert nodes.job_memory_mib == nodes.memory_mib - nodes.reserved_mib < nodes.memory_mib


def test_one_core_of_each_large_socket_is_the_systems() -> None:
    (large,), (small,) = as_shipped("slurm-8n")[1].nodes, as_shipped("lab-metal")[1].nodes
    assert (large.reserved_cores, large.job_cpus) == (2, 252)
    assert (small.reserved_cores, small.job_cpus) == (0, 16)


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
def test_a_gpus_type_is_part_of_what_the_driver_calls_it(gpu: object) -> None:
    """SL08: AutoDetect compares with the driver's name in small letters."""
    product, name = gpu.product, gpu.name  # type: ignore[attr-defined]
    assert detected(product, name) in product.lower().replace("-", "_")
    assert detected("NVIDIA-H100-80GB-HBM3", "H100") == "h100"
    assert detected("NVIDIA-GeForce-RTX-3060", "RTX 3060") == "rtx_3060"


def test_two_heads_and_a_database_where_there_are_three_machines() -> None:
    """W10: the second goes on where the first ends."""
    slurm = as_shipped("slurm-8n")[1]
    assert [head.name for head in slurm.heads] == ["system-0", "system-1"]
    assert slurm.database.name == "system-2"
    alone = as_shipped("lab-metal")[1]
    assert [head.name for head in alone.heads] == ["system-0"]
    assert alone.database.name == "system-0"


def test_without_gpus_the_machines_beside_the_head_compute() -> None:
    slurm = as_shipped("lab-vm")[1]
    assert [(each.pool, len(each.hosts), each.gpus) for each in slurm.nodes] == [("workers", 2, 0)]
    assert slurm.heads == (slurm.database,)


def test_inference_stays_with_kubernetes() -> None:
    """A09."""
    assert [each.pool for each in as_shipped("h100-8n")[1].nodes] == ["training"]


def test_nobody_is_left_for_jobs() -> None:
    one = {"pools": [{"name": "control", "role": "system", "server": "Lab box", "count": 1}]}
    settings = from_sections({"preset": "lab-vm", **OWNER, **one})
    assert isinstance(settings, MetalSettings)
    found = plan(settings)
    assert isinstance(found, MetalPlan)
    with pytest.raises(NoSlurmError, match="add a pool of role training"):
        plan_slurm(settings, found)


def test_machines_are_the_inventorys() -> None:
    slurm = planned("slurm-8n", inventory=inventory("slurm-8n"))[1]
    (nodes,) = slurm.nodes
    assert [host.name for host in nodes.hosts] == [f"training-{number}" for number in range(1, 9)]
    assert all(host.address and host.address.startswith("10.20.") for host in nodes.hosts)
    assert slurm.switches[0].nodes == tuple(host.name for host in nodes.hosts)


def test_a_pods_interface_is_nobodys_on_a_host() -> None:
    """The fabric's variables come along but for that one; the host's own takes its place where it is named."""
    whole, slurm = as_shipped("slurm-8n")
    assert whole.fabric is not None
    assert {**slurm.nccl, "NCCL_SOCKET_IFNAME": "eth0"} == whole.fabric.nccl
    named = inventory("slurm-8n")
    hosts = [{**host, "managementNic": "eno1"} for host in named["hosts"]]
    assert planned("slurm-8n", inventory={**named, "hosts": hosts})[1].interface == "eno1"


def test_a_limit_of_all_gpus_is_none() -> None:
    """Jobs at a limit preempt nobody."""
    queues = {"queues": [{"name": "all", "weight": 4}, {"name": "some", "gpus": 8}]}
    accounts = planned("slurm-8n", scheduling=queues, training={"runs": []})[1].accounts
    assert [(each.name, each.shares, each.gpus) for each in accounts] == [("all", 4, None), ("some", 1, 8)]


def test_rails_are_one_switch_and_each_machine_is_below_one() -> None:
    """32 nodes of eight rails: a leaf holds 31 of them, as storage has a place on each; 64 nodes likewise."""
    for name, least in (("h200-32n", 2), ("h100-64n", 2), ("full", 3)):
        slurm = as_shipped(name)[1]
        below = [node for switch in slurm.switches for node in switch.nodes]
        assert sorted(below) == sorted(host.name for each in slurm.nodes for host in each.hosts)
        leaves = [switch.name for switch in slurm.switches if switch.nodes]
        assert len(leaves) >= least
        assert slurm.switches[-1].switches == tuple(leaves)


def test_a_large_fabric_has_pods_below_cores() -> None:
    pools = [
        {"name": "system", "role": "system", "server": "Dell PowerEdge R760", "count": 5},
        {"name": "training", "role": "training", "server": "Immersed HGX H100", "count": 512},
    ]
    slurm = planned("h100-64n", pools=pools)[1]
    names = [switch.name for switch in slurm.switches if switch.switches]
    assert names[-1] == "cores"
    assert names[:-1] == list(slurm.switches[-1].switches)
    assert len(names) > 2
