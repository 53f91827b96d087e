"""The client of Lustre on a node: its parameters at each boot, and the layout that one machine gives to new files."""

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host as Racked

from .bundles import bundle
from .conftest import Rack
from .racks import Prepared, over_ssh, prepare, verified

pytestmark = pytest.mark.engine

CONCERNS = ("shared-files", "lustre-client")
PARAMETERS = "osc.*.max_pages_per_rpc=1024 llite.*.max_read_ahead_mb=1024 llite.*.max_read_ahead_per_file_mb=256"
SHARED = {
    "SHARED_KIND": "lustre",
    "SHARED_SOURCE": "10.22.0.11@o2ib:/shared",
    "LUSTRE_PARAMETERS": PARAMETERS,
    "LUSTRE_STRIPES": "8",
}
PACKAGES = {"lustre-client-modules": "2.16.1-1"}


def run(hall: Hall, host: Racked, action: str = "apply", **variables: str) -> Prepared:
    return prepare(hall, host, bundle(CONCERNS, {**SHARED, **variables}), action=action)


def parameters(host: Racked) -> list[str]:
    return [call[-1] for call in host.calls() if call[0] == "lctl"]


def test_parameters_are_set_now_and_at_each_boot_and_files_are_striped_once(hall: Hall, rack: Rack) -> None:
    host = rack(packages=PACKAGES)
    first = run(hall, host)
    assert "new files striped over 8 targets" in first.lines["lustre-client"]
    assert parameters(host) == PARAMETERS.split()
    assert host.state()["layouts"] == {"/mnt/shared": 8}
    assert verified(hall, host) == ["gpucluster-lustre.service", "mnt-shared.mount"]
    calls = len(host.calls())
    assert run(hall, host).all_ok()
    assert not [call for call in host.calls()[calls:] if call[0] == "lctl" or "setstripe" in call]
    host.power_off()
    host.power_on()
    assert parameters(host) == [*PARAMETERS.split()] * 2


def test_who_says_nothing_of_stripes_leaves_the_layout_alone(hall: Hall, rack: Rack) -> None:
    host = rack(packages=PACKAGES)
    assert run(hall, host, LUSTRE_STRIPES="").status == 0
    assert not [call for call in host.calls() if call[0] == "lfs"]


def test_a_parameter_that_lustre_refuses_is_told(hall: Hall, rack: Rack) -> None:
    """It does not take more read-ahead for a file than for all; and it has no such statistics to set (ST09)."""
    for wrong in (
        "llite.*.max_read_ahead_per_file_mb=512",
        "osc.*.max_pages_per_rpc=8192",
        "llite.*.read_ahead_stats=1",
    ):
        failed = run(hall, rack(packages=PACKAGES), LUSTRE_PARAMETERS=wrong)
        assert failed.status == 1
        assert "gpucluster-lustre.service does not start" in failed.lines["lustre-client"], wrong


def test_a_changed_parameter_is_set_again_and_undoing_takes_the_unit_away(hall: Hall, rack: Rack) -> None:
    host = rack(packages=PACKAGES)
    assert run(hall, host).status == 0
    changed = run(hall, host, LUSTRE_PARAMETERS="osc.*.max_pages_per_rpc=512")
    assert "gpucluster-lustre.service restarted" in changed.lines["lustre-client"]
    assert parameters(host)[-1] == "osc.*.max_pages_per_rpc=512"
    assert run(hall, host, "undo").status == 0
    there = over_ssh(hall, host, "ls /etc/systemd/system").stdout
    assert "gpucluster-lustre.service" not in there
    assert host.state()["layouts"] == {"/mnt/shared": 8}, "files have it by now"
