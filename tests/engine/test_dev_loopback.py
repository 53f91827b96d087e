"""What a rehearsal serves, it serves on loopback."""

import ipaddress

import psutil
import pytest

from rehearsal import places, procfs, sites

from .rehearsed import Rehearsed

pytestmark = pytest.mark.engine


def test_every_listening_socket_of_the_site_is_on_loopback(dev: Rehearsed) -> None:
    """The control plane, the account, the schedulers, the training operator with its webhook: none on 0.0.0.0."""
    record = places.read_json(dev.directory.record)
    assert sites.status(dev.directory.path).state is sites.State.RUNNING
    assert record is not None
    listening = {
        (psutil.Process(pid).name(), connection.laddr.ip)
        for pid in procfs.tree(record["supervisor"]["pid"])
        for connection in psutil.Process(pid).net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {"kube-apiserver", "training-operator.v1", "vc-scheduler"} <= {name for name, _ in listening}
    assert [each for each in sorted(listening) if not ipaddress.ip_address(each[1]).is_loopback] == []
