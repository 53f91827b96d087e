"""One process answers calls of a host's tools: as a program of its own would, and without it these are started."""

import pytest

from rehearsal.metal.hall import Hall

from .conftest import Rack
from .racks import over_ssh

pytestmark = pytest.mark.engine

CALLS = r"""
cd /var/tmp; umask 077; export CRICTL_AUTH=a:b; rm -f /etc/hostid
{ echo before; uname -n; systemctl is-enabled nobody; echo "after $?"; } >said; cat said
systemctl start nobody 2>&1 >/dev/null; echo $?
crictl pull registry.example.com/a:1
zgenhostid; stat -c %a /etc/hostid
"""
PACKAGES = {"kubeadm": "1.36.3-1.1", "zfsutils-linux": "2.2.2-0ubuntu9.4"}


def test_a_call_is_answered_alike_with_and_without_the_process(hall: Hall, rack: Rack) -> None:
    """Streams and where they stand, words, exit statuses, environment, umask."""
    host = rack(packages=PACKAGES, registries=("registry.example.com=a:b",))
    served = over_ssh(hall, host, "bash -s", CALLS)
    assert served.stdout.splitlines() == [
        *("before", host.machine.name, "disabled", "after 1"),
        *("Failed to start nobody.service: Unit nobody.service not found.", "5"),
        "Image is up to date for registry.example.com/a:1",
        "600",
    ]
    listening = "exec 3<>/dev/tcp/127.0.0.1/1"
    assert over_ssh(hall, host, "bash -s", listening).status == 0
    over_ssh(hall, host, "bash -s", "kill $(grep -lsa tools-served /proc/[0-9]*/cmdline | cut -d / -f 3)")
    assert over_ssh(hall, host, "bash -s", listening).status != 0
    assert over_ssh(hall, host, "bash -s", CALLS) == served


def test_only_other_users_than_root_start_an_interpreter_for_a_call(hall: Hall, rack: Rack) -> None:
    """Most of a host's CPU went to interpreters."""
    host = rack(user="ops")
    started = "bash -x /usr/bin/uname 2>&1 | grep -c -- -IS"
    assert over_ssh(hall, host, f"sudo {started}", user="ops").stdout == "0\n"
    assert over_ssh(hall, host, started, user="ops").stdout == "1\n"
