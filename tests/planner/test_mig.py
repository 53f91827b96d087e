"""MIG slices and shared GPUs: profiles, labels, resources (KJ24, KJ25, KJ26)."""

import pytest

from catalogue.gpus import A100_40, H100, H200, L40S, T4
from planner.mig import MigStrategy, mig_config, product_label, profile, resource_name


def test_profiles_belong_to_a_gpu() -> None:
    """KJ24: 1g.5gb is the A100's with 40 GB, 1g.10gb no H200's; an L40S cannot be cut."""
    assert profile(A100_40, "1g.5gb") is not None
    assert profile(H100, "1g.5gb") is None
    assert profile(H200, "1g.10gb") is None
    assert profile(L40S, "1g.10gb") is None
    found = profile(H200, "1g.18gb")
    assert found is not None
    assert (found.count, found.memory_gb) == (7, 18)


@pytest.mark.parametrize(
    ("strategy", "name", "resource"),
    [
        ("mixed", "1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("mixed", "1g.10gb+me", "nvidia.com/mig-1g.10gb.me"),
        ("single", "1g.5gb", "nvidia.com/gpu"),
    ],
)
def test_resource_depends_on_the_strategy(strategy: MigStrategy, name: str, resource: str) -> None:
    """KJ25: nvidia.com/mig-1g.5gb exists under mixed only; single offers slices as GPUs."""
    assert resource_name(strategy, name) == resource


def test_no_strategy_no_slices() -> None:
    """KJ25: under none a cut GPU is not offered."""
    with pytest.raises(ValueError, match="offers no slices"):
        resource_name("none", "1g.5gb")


def test_labels_name_slices_and_sharing() -> None:
    """KJ21, KJ26: single adds the profile, sharing adds SHARED unless the resource was renamed, mixed adds neither."""
    assert product_label(H100) == "NVIDIA-H100-80GB-HBM3"
    assert product_label(T4, replicas=4) == "Tesla-T4-SHARED"
    assert product_label(T4, replicas=4, renamed=True) == "Tesla-T4"
    assert product_label(T4, replicas=1) == "Tesla-T4"
    assert product_label(A100_40, "1g.5gb") == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    assert product_label(A100_40, "1g.5gb", replicas=2) == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"
    assert product_label(A100_40, "1g.5gb", "mixed", replicas=2) == "NVIDIA-A100-SXM4-40GB"
    assert product_label(H100, "1g.10gb+me") == "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me"


def test_one_configuration_for_a_node() -> None:
    """KJ24: a node carries one nvidia.com/mig.config, which cuts all its GPUs alike."""
    assert mig_config("1g.10gb") == "all-1g.10gb"
    assert mig_config("1g.10gb+me") == "all-1g.10gb.me"
