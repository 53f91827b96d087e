"""Orders of a rehearsal that runs: loads that replace each other and are shared out, failures that are kept."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from rehearsal.kubelet import orders
from rehearsal.kubelet.orders import Fault, Load, Ordered, Orders

LOAD = Load("ns", "chat", {"app": "chat"}, 20.0, since=100.0, until=700.0)


def pod(name: str, ready: str = "True", app: str = "chat", **meta: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": app}, **meta},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def test_a_second_load_ends_the_first_and_none_ends_it_too() -> None:
    first = orders.loaded(Ordered(), LOAD)
    second = orders.loaded(first, replace(LOAD, rps=5.0, since=200.0, until=800.0))
    assert [(each.rps, each.until) for each in second.loads] == [(20.0, 200.0), (5.0, 800.0)]
    ended = orders.loaded(second, replace(LOAD, rps=0.0, since=300.0))
    assert not any(each.on(300.0) for each in ended.loads)
    other = orders.loaded(first, replace(LOAD, service="code", since=150.0))
    assert [each.until for each in other.loads] == [700.0, 700.0]


def test_loads_that_ended_long_ago_are_forgotten() -> None:
    first = orders.loaded(Ordered(), LOAD)
    assert len(orders.loaded(first, replace(LOAD, service="code", since=700.0 + 3599)).loads) == 2
    assert len(orders.loaded(first, replace(LOAD, service="code", since=700.0 + 3601)).loads) == 1


def test_a_load_is_spread_over_the_ready_pods_of_its_service() -> None:
    pods = [pod("a"), pod("b"), pod("c", ready="False"), pod("d", app="code"), pod("e", deletionTimestamp="now")]
    share = [orders.share([LOAD], each, pods, 150.0) for each in pods]
    assert share == [10.0, 10.0, 0.0, 0.0, 0.0]
    assert orders.share([LOAD], pods[0], pods[:1], 150.0) == 20.0
    assert orders.share([LOAD], pods[0], pods, 99.0) == orders.share([LOAD], pods[0], pods, 700.0) == 0.0
    assert orders.share([replace(LOAD, namespace="other")], pods[0], pods, 150.0) == 0.0


def test_a_failure_lasts_until_it_is_healed_and_is_kept_then() -> None:
    fault = Fault("a", "pcie", since=1.0)
    once = orders.broken(Ordered(), fault)
    assert orders.broken(once, replace(fault, since=2.0)) == once
    assert len(orders.broken(once, replace(fault, gpu=1, since=2.0)).faults) == 2
    assert orders.healed(once, "b", None, 5.0) == orders.healed(once, "a", ["nvlink"], 5.0) == once
    healed = orders.healed(once, "a", ["pcie"], 5.0)
    assert [(each.until, each.lasts) for each in healed.faults] == [(5.0, False)]
    again = orders.broken(healed, replace(fault, since=6.0))
    assert [each.lasts for each in again.of("a")] == [False, True]


def test_the_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "cluster" / orders.FILE
    reader = Orders(file)
    assert reader.now() == Ordered()
    orders.change(file, lambda before: orders.loaded(before, LOAD))
    assert reader.now() == Ordered(loads=(LOAD,))
    orders.change(file, lambda before: orders.broken(before, Fault("a", "oom", 1.0, until=1.0)))
    assert reader.now().faults == (Fault("a", "oom", 1.0, until=1.0),)


def test_a_reboot_heals_the_kinds_that_it_cures(tmp_path: Path) -> None:
    file = tmp_path / orders.FILE
    for kind in ("pcie", "gpu-unavailable"):
        orders.change(file, lambda before, kind=kind: orders.broken(before, Fault("a", kind, 1.0)))  # type: ignore[misc]
    Orders(file).heal("a", ["pcie", "nvlink"])
    assert [(each.kind, each.lasts) for each in orders.read(file).faults] == [
        ("pcie", False),
        ("gpu-unavailable", True),
    ]


def test_those_who_change_it_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / orders.FILE

    def break_one(index: int) -> None:
        orders.change(file, lambda before: orders.broken(before, Fault("a", "pcie", 1.0, gpu=index)))

    threads = [threading.Thread(target=break_one, args=(index,)) for index in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(each.gpu for each in orders.read(file).faults) == list(range(8))
