"""munged, MariaDB, slurmdbd, slurmctld and slurmd themselves, on hosts, with the files that the program's bundles put
there: a controller asks the database of another machine, and a machine registers with it.

systemctl is a script of these tests that starts the daemons as Debian's units do. What is not exact is slurmd's copy of
slurm.conf and gres.conf: a host has no control groups and no GPUs.
"""

import re
import shutil
import time
from collections.abc import Callable, Iterator

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsed import machines
from tests.slurm.installation import HERE, lacking

from .racks import over_ssh
from .test_slurm import DATABASE, FIRST, NODE, run, stack_text

pytestmark = [pytest.mark.engine, pytest.mark.skipif(lacking() is not None, reason=lacking() or "")]

SYSTEMCTL = """\
#!/bin/bash
# show, is-enabled, enable, disable, is-active, start, restart, stop of UNIT, the last word; the rest does nothing.
words=()
for word in "$@"; do case "$word" in -*) ;; *) words+=("$word") ;; esac; done
verb=${words[0]} unit=${words[-1]}
pid=/run/units/$unit enabled=/etc/units/$unit
mkdir -p /run/units /etc/units
runs() { [ -e "$pid" ] && kill -0 "$(cat "$pid")" 2>/dev/null; }
begin() { setsid "$@" >>"/var/log/$unit.out" 2>&1 </dev/null & echo $! >"$pid"; }
end() { if runs; then kill "$(cat "$pid")"; while runs; do sleep 0.1; done; fi; rm -f "$pid"; }
start() {
    case "$unit" in
    munge.service)
        for each in /run/munge /var/log/munge /var/lib/munge; do mkdir -p "$each"; chown munge: "$each"; done
        begin setpriv --reuid munge --regid munge --clear-groups munged --foreground
        while runs && [ ! -S /run/munge/munge.socket.2 ]; do sleep 0.1; done
        ;;
    mariadb.service)
        mkdir -p /run/mysqld /var/lib/mysql && chown mysql: /run/mysqld /var/lib/mysql
        [ -e /var/lib/mysql/mysql ] || mariadb-install-db --user=mysql --skip-test-db >/dev/null
        begin mariadbd --user=mysql
        while runs && [ ! -S /run/mysqld/mysqld.sock ]; do sleep 0.1; done
        ;;
    slurmdbd.service) [ ! -e /etc/slurm/slurmdbd.conf ] || begin slurmdbd -D -s ;;
    slurmctld.service) [ ! -e /etc/slurm/slurm.conf ] || begin slurmctld -D -s ;;
    slurmd.service) [ ! -e /etc/slurm/slurm.conf ] || SLURM_CONF=/etc/slurm/here/slurm.conf begin slurmd -D -s ;;
    esac
}
case "$verb" in
is-enabled) if [ -e "$enabled" ]; then echo enabled; else echo disabled && exit 1; fi ;;
enable)
    : >"$enabled"
    case " $* " in *" --now "*) runs || start ;; esac
    ;;
show)
    if runs; then echo ActiveState=active; fi
    if [ -e "$enabled" ]; then echo UnitFileState=enabled; fi
    ;;
disable) rm -f "$enabled" && end ;;
is-active) runs || exit 3 ;;
start) runs || start ;;
restart) end && start ;;
stop) end ;;
esac
"""


@pytest.fixture
def site(hall: Hall) -> Iterator[dict[str, Host]]:
    """Hosts with the machine's own Slurm in place of what plays it."""
    found = {each.name: each for each in machines.machines(stack_text())}
    hosts = {}
    for name in (DATABASE, FIRST, NODE):
        machine = found[name]
        object.__setattr__(machine, "disk_mib", 600)
        hall.rack([machine])
        host = hosts[name] = hall.hosts[name]
        host.power_off()
        for played in ("mariadb", "sacctmgr", "scontrol"):
            (host.disk / "usr/bin" / played).unlink()
        (host.disk / "usr/bin/systemctl").write_text(SYSTEMCTL)
        (host.disk / "etc/mysql").mkdir(exist_ok=True)
        (host.disk / "etc/mysql/my.cnf").write_text("!includedir /etc/mysql/mariadb.conf.d/\n")
        host.power_on()
    yield hosts
    for host in hosts.values():
        host.power_off()


def until(ready: Callable[[], bool], said: Callable[[], str]) -> None:
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end, said()
        time.sleep(0.5)


def test_the_daemons_start_with_the_files_of_the_bundles(hall: Hall, site: dict[str, Host]) -> None:
    def ask(name: str, words: str) -> str:
        return over_ssh(hall, site[name], f"sudo -n {words}", user=site[name].machine.user).stdout

    for name in (DATABASE, FIRST):
        said = run(hall, site[name])
        log = site[name].disk / "var/log"
        assert said.status == 0, (said.lines, [each.read_text()[-2000:] for each in log.rglob("*.out")])
        assert run(hall, site[name]).all_ok(), name
    assert "Slurmctld(primary) at system-1 is UP" in ask(FIRST, "scontrol ping")
    assert "gpu-training|" in ask(DATABASE, "sacctmgr -nP show account")
    assert "mine|10.20.0." in ask(DATABASE, "sacctmgr -nP show cluster format=cluster,controlhost")
    node = site[NODE]
    here = node.disk / "etc/slurm/here"
    here.mkdir(parents=True)
    said = run(hall, node, concerns={"packages", "slurm"})
    assert said.status == 0, said.lines
    conf = (node.disk / "etc/slurm/slurm.conf").read_text()
    for key, value in HERE.items():
        conf = "\n".join(f"{key}={value}" if line.startswith(f"{key}=") else line for line in conf.splitlines())
    (here / "slurm.conf").write_text(f"{conf}\nSlurmdParameters=config_overrides\n")
    shutil.copy(node.disk / "etc/slurm/topology.conf", here)
    (here / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (here / "gres.conf").write_text("Name=gpu Type=h100 File=/dev/nvidia[0-7]\n")
    ask(NODE, "sh -c 'for each in 0 1 2 3 4 5 6 7; do touch /dev/nvidia$each; done'")
    said = run(hall, node, concerns={"slurm", "slurm-node"})
    assert said.status == 0, (said.lines, (node.disk / "var/log/slurmd.service.out").read_text()[-2000:])
    # The controller has heard from it, and drains what has neither the memory nor the GPUs of its line.
    until(
        lambda: re.search(r" Version=\d", ask(FIRST, f"scontrol -o show node {NODE}")) is not None,
        lambda: f"{ask(FIRST, f'scontrol -o show node {NODE}')}{(node.disk / 'var/log/slurm/slurmd.log').read_text()}",
    )
    assert "INVALID_REG" in ask(FIRST, f"scontrol -o show node {NODE}")
