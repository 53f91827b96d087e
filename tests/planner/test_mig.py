"""MIG slices and shared GPUs: profiles, labels, resources (KJ24, KJ25, KJ26)."""

from catalogue.gpus import A100_40, H100, H200, L40S, T4
from planner.pool_types import mig_config, product_label, profile
from tests.planner.stacks import planned


def test_profiles_belong_to_a_gpu() -> None:
    """KJ24: 1g.5gb is the A100's with 40 GB, 1g.10gb no H200's; an L40S cannot be cut."""
    assert profile(A100_40, "1g.5gb") is not None
    assert profile(H100, "1g.5gb") is None
    assert profile(H200, "1g.10gb") is None
    assert profile(L40S, "1g.10gb") is None
    found = profile(H200, "1g.18gb")
    assert found is not None
    assert (found.count, found.memory_gb) == (7, 18)


def test_labels_name_slices_and_sharing() -> None:
    """KJ21, KJ25, KJ26: a slice's node names the profile and offers GPUs, and sharing adds SHARED."""
    assert product_label(H100) == "NVIDIA-H100-80GB-HBM3"
    assert product_label(T4, replicas=4) == "Tesla-T4-SHARED"
    assert product_label(T4, replicas=1) == "Tesla-T4"
    assert product_label(A100_40, "1g.5gb") == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    assert product_label(A100_40, "1g.5gb", replicas=2) == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"
    assert product_label(H100, "1g.10gb+me") == "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me"


def test_one_configuration_for_a_node() -> None:
    """KJ24: a node carries one nvidia.com/mig.config, which cuts all its GPUs alike."""
    assert mig_config("1g.10gb") == "all-1g.10gb"
    assert mig_config("1g.10gb+me") == "all-1g.10gb.me"


def test_more_servers_of_a_gpu_than_vllm_has_parts_for_are_told_what_can_be_typed() -> None:
    """K04: a tenth of a GPU is the least of a server; 16 of them have 6 % each."""
    changes = {"pools.2.timeSlices": 16}
    (found,) = (each for each in planned("dev", changes).findings if each.rule == "time-slices-memory")
    assert found.remedy == "lower the pool's timeSlices to at most 10, and set it to 0.1"
