"""What a site's hall does with an order of machines, and what it answers."""

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rehearsal import places
from rehearsal.metal.machine import Machine
from rehearsal.metal.record import Record
from rehearsal.places import SiteDirectory
from rehearsal.processes import Identity, StartError
from rehearsal.racks import keeper
from rehearsal.racks.keeper import HallKeeper
from rehearsal.tests.inside.account import until

FIRST = Machine("a", "10.20.0.1", "S1", memory_gib=256)


class Standing:
    """A host that was racked."""

    def __init__(self, machine: Machine, log: list[str]) -> None:
        self.machine, self._log, self.on = machine, log, True

    def know(self, machine: Machine) -> None:
        self.machine = machine
        self._log.append(f"more is known of {machine.name}")

    def power_off(self) -> None:
        self._log.append(f"{self.machine.serial} off")
        self.on = False

    def power_on(self) -> None:
        self._log.append(f"{self.machine.serial} on again")
        self.on = True


class FakeHall:
    """A hall that only says what it is told."""

    lack: str | None = None

    def __init__(self, *_: Any) -> None:
        self.hosts: dict[str, Standing] = {}
        self.log: list[str] = []

    def start(self) -> None:
        if self.lack:
            raise StartError(self.lack)
        self.log.append("start")

    def rack(self, machines: list[Machine]) -> None:
        for each in machines:
            self.hosts[each.name] = Standing(each, self.log)
            self.log.append(f"{each.serial} on")

    def stop(self) -> None:
        self.log.append("stop")


@pytest.fixture
def site(tmp_path: Path) -> SiteDirectory:
    return SiteDirectory(tmp_path / "site").create()


@pytest.fixture
def kept(site: SiteDirectory, monkeypatch: pytest.MonkeyPatch) -> Iterator[HallKeeper]:
    """A keeper that looks now and then, as the supervisor lets it."""
    monkeypatch.setattr(keeper, "Hall", FakeHall)
    made = HallKeeper(site, None, None, None)  # type: ignore[arg-type]
    ending = threading.Event()

    def look() -> None:
        while not ending.wait(0.01):
            made.reconcile()

    thread = threading.Thread(target=look)
    thread.start()
    yield made
    ending.set()
    thread.join()


def log(kept: HallKeeper) -> list[str]:
    assert isinstance(kept._hall, FakeHall)
    return kept._hall.log


def test_machines_boot_once(site: SiteDirectory, kept: HallKeeper) -> None:
    assert not keeper.ordered(site)
    keeper.place(site, [FIRST], {})
    keeper.place(site, [FIRST], {})
    assert log(kept) == ["start", "S1 on"]
    assert keeper.ordered(site)


def test_who_has_a_serial_number_stays_who_he_is(site: SiteDirectory, kept: HallKeeper) -> None:
    keeper.place(site, [FIRST], {})
    keeper.place(site, [replace(FIRST, packages={"doca-ofed": "1"})], {})
    assert log(kept) == ["start", "S1 on", "more is known of a"]


def test_another_serial_is_another_machine_in_its_place(site: SiteDirectory, kept: HallKeeper) -> None:
    keeper.place(site, [FIRST], {})
    keeper.place(site, [replace(FIRST, serial="S2")], {})
    assert log(kept) == ["start", "S1 on", "S1 off", "S2 on"]


def test_a_machine_that_is_named_no_more_stays_where_it_stands(site: SiteDirectory, kept: HallKeeper) -> None:
    second = replace(FIRST, name="b", serial="S2", address="10.20.0.2")
    keeper.place(site, [FIRST, second], {})
    keeper.place(site, [FIRST], {})
    assert log(kept) == ["start", "S1 on", "S2 on", "more is known of a"]


def test_a_machine_that_is_lost_is_named_and_the_next_order_switches_it_on(
    site: SiteDirectory, kept: HallKeeper
) -> None:
    own = Identity.of(os.getpid())
    assert own is not None
    keeper.place(site, [FIRST], {})
    Record(own, user=False).write(site.hall / "hall.json")
    assert len(keeper.shown(site)) == 1
    for _ in range(2):
        assert kept._hall is not None
        kept._hall.hosts["a"].on = False  # type: ignore[misc]  # the fake's
        until(lambda: len(keeper.shown(site)) == 2, 60, "both machines are shown")
        assert keeper.shown(site)[1] == "off: a; another up switches on what the stack file names"
        keeper.place(site, [FIRST], {})
        assert log(kept)[-1] == "S1 on again"
        until(lambda: len(keeper.shown(site)) == 1, 60, "one machine is shown")
    assert log(kept).count("S1 on again") == 2


def test_what_the_machine_lacks_is_answered_and_told(
    site: SiteDirectory, kept: HallKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeHall, "lack", "rehearsed hosts need sudo")
    with pytest.raises(StartError, match="need sudo"):
        keeper.place(site, [FIRST], {})
    monkeypatch.setattr(FakeHall, "lack", None)
    keeper.place(site, [replace(FIRST, serial="S2")], {})
    assert log(kept) == ["start", "S2 on"]


def test_a_stack_without_machines_has_no_hall(site: SiteDirectory, kept: HallKeeper) -> None:
    keeper.place(site, [], {})
    assert kept._hall is None
    assert keeper.shown(site) == []


def test_a_person_is_told_how_to_get_a_shell_on_a_host(site: SiteDirectory) -> None:
    own = Identity.of(os.getpid())
    assert own is not None
    places.write_json(site.hall / "order.json", {"machines": [FIRST.facts()]})
    assert keeper.shown(site) == []
    Record(own, user=False).write(site.hall / "hall.json")
    (sentence,) = keeper.shown(site)
    assert sentence.startswith("racked hosts: 1; a shell on one: nsenter ")
    assert sentence.endswith(" root@10.20.0.1")


def test_nodes_have_pods_of_their_own_range(site: SiteDirectory) -> None:
    made = HallKeeper(site, None, None, None)  # type: ignore[arg-type]
    made._pods = "10.244.0.0/16"
    assert [made._block(name) for name in ("a", "b", "a")] == ["10.244.0.0/24", "10.244.1.0/24", "10.244.0.0/24"]


def test_orders_and_keys_are_for_their_owner_alone(site: SiteDirectory, kept: HallKeeper) -> None:
    keeper.place(site, [FIRST], {"/mnt/shared": {"datasets/a": 1}})
    for path in (site.hall / "order.json", site.hall / "answer.json"):
        assert path.stat().st_mode & 0o077 == 0
    order = places.read_json(site.hall / "order.json")
    assert order is not None
    assert order["files"] == {"/mnt/shared": {"datasets/a": 1}}
    assert kept is not None
