"""The doctor asks a rehearsed machine for the fabric by the real ssh; the tools there are the real ones, on ibsim."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.fabric.asking import ask
from doctor.fabric.examination import examine
from doctor.machines.reading import Ssh
from doctor.results import Status
from planner.site import SitePlan
from rehearsal.metal.hall import OUTSIDE, Hall
from rehearsal.metal.lacking import missing
from rehearsed.machines import machines
from tests.graph.stackfiles import ROOT
from tests.rehearsed.fabric.running import missing as without_fabrics
from tests.rehearsed.fabric.running import swept
from tests.rehearsed.test_fabric import exchanged, index, net, racked

pytestmark = pytest.mark.engine

LACKING = missing() or without_fabrics()
TOOLS = ("ibnetdiscover", "ibqueryerrors", "sminfo")
DROPPED = "[ -e /tmp/asked ] || { : >/tmp/asked; echo query failed >&2; exit 1; }"


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hall, SitePlan]]:
    """Two machines of the committed stack."""
    if LACKING:
        pytest.skip(LACKING)
    names = ("dgx-01", "dgx-02")
    delivered = {each.name: each for each in machines((ROOT / "Pulumi.metal.yaml").read_text())}
    made = Hall(tmp_path_factory.mktemp("hall"))
    made.start()
    made.rack([delivered[name] for name in names])
    site = racked().site
    assert site is not None
    keys = {name: " ".join(made.hosts[name].keys.public.split()[:2]) for name in names}
    hosts = [replace(each, host_key=keys[each.name]) for each in site.hosts if each.name in names]
    yield made, replace(site, hosts=tuple(hosts))
    made.stop()


def carded(name: str) -> str:
    """A script that gives a machine tools that look at the simulated fabric, from where its first card would be."""
    told = f"cd /tmp && IBSIM_SERVER_NAME={OUTSIDE} SIM_HOST={name}-card-0 exec ibsim-run /usr/sbin/"
    wrapped = {tool: f'#!/bin/sh\n{told}{tool} "$@"\n' for tool in TOOLS}
    # As on a busy fabric, which drops questions.
    wrapped["ibqueryerrors"] = wrapped["ibqueryerrors"].replace("\n", f"\n{DROPPED}\n", 1)
    lines = [
        f"printf %s {shlex.quote(text)} >/usr/local/sbin/{tool} && chmod 755 /usr/local/sbin/{tool}"
        for tool, text in wrapped.items()
    ]
    return "\n".join(["mkdir -p /usr/local/sbin", *lines, "echo end\n"])


def test_machines_without_a_card_are_passed_over_and_the_next_one_sees_the_whole_fabric(
    hall: tuple[Hall, SitePlan], tmp_path: Path
) -> None:
    made, site = hall
    ssh = Ssh(made.keys.private, made.record.enter())
    blind = ask(site, site.hosts, ssh.run)
    assert blind.links is None
    assert blind.why.startswith("dgx-01: ibnetdiscover: ")
    ssh.run(site, site.hosts[1], carded("dgx-02"))
    fabric = exchanged(net(racked()), *(index(net(racked()), f"dgx-07-card-{card}") for card in (0, 5)))
    with swept(fabric, tmp_path, at=OUTSIDE, through=made.record.enter()):
        reports = ask(site, site.hosts, ssh.run)
    assert reports.links is not None
    assert (reports.why, reports.down is None) == ("", False), "who was not answered asks again"
    results = examine(racked(), reports)
    assert [(each.check, each.subject) for each in results if each.status is not Status.OK] == [
        ("cable swapped", "dgx-07:0 - leaf-r0-01:6"),
        ("cable swapped", "dgx-07:5 - leaf-r5-01:6"),
    ]
    assert {each.check for each in results} == {"subnet-manager", "cable", "cable swapped"}
