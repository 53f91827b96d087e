"""NCCL's environment: what is said, and what cannot be said."""

import inspect

import pytest

from planner.fabric.nccl import variables

DGX = tuple(f"mlx5_{number}" for number in (0, 3, 4, 5, 6, 9, 10, 11))
PRESETS = {
    "infiniband": variables("infiniband", DGX, rails=True, sharp=True),
    "roce": variables("roce", DGX, rails=True, sharp=True),
    "ethernet": variables("ethernet", rails=True, sharp=True),
}


def test_infiniband_on_rails() -> None:
    """T3.11, NC06, NC08, E11, E12: the exact list, the pods' interface, and traffic that stays on its rail."""
    assert PRESETS["infiniband"] == {
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_IB_HCA": "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11",
        "NCCL_CROSS_NIC": "0",
        "NCCL_COLLNET_ENABLE": "1",
    }


def test_nothing_is_said_without_need() -> None:
    """T3.11: off rails, without SHARP and without known devices NCCL decides."""
    assert variables("infiniband", rails=False) == {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "eth0"}


def test_roce() -> None:
    """T3.11, E04: InfiniBand's, the longer timeout, and the class that cards and switches lose no packet of."""
    verbs = variables("infiniband", DGX, rails=True)
    marked = {"NCCL_IB_TC": "106", "NCCL_IB_SL": "3"}
    assert PRESETS["roce"] == verbs | marked | {"NCCL_IB_TIMEOUT": "22"}


def test_tcp() -> None:
    """T3.11: without RDMA NCCL looks for none."""
    assert PRESETS["ethernet"]["NCCL_IB_DISABLE"] == "1"


def test_sockets_are_those_that_pods_have() -> None:
    """NC01, NC02: eth0, one value for all; ib0 is in no pod by itself."""
    names = {preset.get("NCCL_SOCKET_IFNAME") for preset in PRESETS.values()}
    assert names == {"eth0"}
    assert not set(inspect.signature(variables).parameters) & {"socket", "interface"}


@pytest.mark.parametrize(
    ("correction", "variable"),
    [
        ("NC03", "NCCL_IB_GID_INDEX"),
        ("NC04", "NCCL_NET_GDR_LEVEL"),
        ("NC05", "NCCL_NET_GDR_READ"),
        ("NC07", "NCCL_BUFFSIZE"),
        ("NC09", "NCCL_TOPO"),
        ("NC17", "NCCL_MIN_NCHANNELS"),
        ("NC17", "NCCL_ALGO"),
        ("NC17", "NCCL_PROTO"),
        ("NC17", "RDMAV_FORK_SAFE"),
    ],
)
def test_what_no_preset_can_say(correction: str, variable: str) -> None:
    """NC03, NC04, NC05, NC07, NC09, NC17: no preset sets it, with all of its fields given; NCCL decides better."""
    assert not any(variable in preset for preset in PRESETS.values()), correction


def test_no_preset_crosses_rails() -> None:
    """NC06: 1 would lead all traffic through the spines; it cannot be said."""
    assert {preset.get("NCCL_CROSS_NIC") for preset in PRESETS.values()} == {"0", None}


def test_timeout_is_roce_s_alone() -> None:
    """NC10: 20 is NCCL's default and no tuning; only RoCE takes another."""
    assert [kind for kind, preset in PRESETS.items() if "NCCL_IB_TIMEOUT" in preset] == ["roce"]


@pytest.mark.parametrize(
    "names", [("mlx5",), ("mlx5_0", "mlx5_0"), ("mlx5_0", "mlx5"), ("mlx5_0,mlx5_1",), ("=mlx5_0",)]
)
def test_devices_are_whole_names(names: tuple[str, ...]) -> None:
    """NC08: a prefix takes storage cards along; a list in one string hides one."""
    with pytest.raises(ValueError, match="no distinct device names"):
        variables("infiniband", names, rails=True)
