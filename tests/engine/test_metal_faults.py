"""An `up` in which machines lose power or their connection fails and names them; the next one does their part alone.

Hosts are namespaces of this machine; where it lacks what they take, the test is skipped and says what that is.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml

from rehearsal.metal.lacking import missing
from rehearsal.metal.tools.machine import write
from tests.graph.stackfiles import stack_config

from .rehearsed import Rehearsed, rehearsed
from .test_metal_up import disk, nodes
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

LACKING = missing()
WELL = ("dgx-03", "oss-1", "mds-1")
"""Machines that nothing befalls, one of each kind; the first control plane machine waits for nodes in each `up`."""


def small() -> dict[str, Any]:
    """The shipped stack with three GPU machines, and nothing that runs on them."""
    config = deepcopy(stack_config("metal"))
    for each in config["gpucluster:inventory"]["hosts"]:
        if each.get("pool") == "training":
            each |= {"name": "dgx-[01-03]", "address": "10.20.0.[21-23]", "bmc": "10.20.4.[21-23]", "racks": "r[1-3]"}
            each |= {"units": [2], **{key: each[key][:3] for key in ("hostKeys", "serials", "allowFormat")}}
    config["gpucluster:pools"][1] |= {"count": 3, "maxCount": 3}
    config["gpucluster:training"] = {}
    return config


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    if LACKING:
        pytest.skip(LACKING)
    directory = tmp_path_factory.mktemp("faults")
    tree = Tree.copy(directory / "tree")
    tree.write("Pulumi.metal.yaml", yaml.safe_dump({"config": small()}))
    with rehearsed("metal", tree, directory / "state", "metal") as made:
        yield made


def accepted(site: Rehearsed) -> dict[str, int]:
    """How often each well machine has let somebody in."""
    logs = {name: disk(site, name) / "var/log/sshd.log" for name in WELL}
    return {name: log.read_text().count("Accepted publickey") for name, log in logs.items()}


def test_the_next_up_does_what_is_left_and_leaves_well_machines_alone(site: Rehearsed) -> None:
    """No power while its array is made, no connection while containerd starts anew."""
    write(str(disk(site, "dgx-01") / ".machine/faults"), {"mdadm --create": "power"})
    write(str(disk(site, "dgx-02") / ".machine/faults"), {"systemctl restart containerd": "cut"})
    failed = site.up("--continue-on-error")
    assert failed.status != 0
    told = {each.urn.name for each in failed.record.errors() if each.urn is not None}
    assert {name for name in ("dgx-01", "dgx-02", *WELL) if any(name in each for each in told)} == {"dgx-01", "dgx-02"}
    before = accepted(site)
    site.session.seed((site.tree.root / "Pulumi.metal.yaml").read_text())  # who is off is switched on, as people do
    again = site.up().require()
    assert sorted(nodes(site)) == ["cp-1", "cp-2", "cp-3", "dgx-01", "dgx-02", "dgx-03"]
    assert accepted(site) == before
    touched = {name for _, _, name in again.record.operations()}
    assert not [each for each in touched if any(name in each for name in WELL)]
    site.assert_quiet()
