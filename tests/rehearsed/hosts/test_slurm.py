"""What the program sends to machines of a stack under Slurm, on such machines: daemons run, and the second time nothing
is changed."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
import yaml

from doctor.machines.comparing import examine
from doctor.machines.reading import Ssh
from doctor.results import Status
from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsed import machines
from tests.graph.harness import Recorded
from tests.stacks.test_metal import machines as commands
from tests.stacks.test_metal_presets import config, deployed, with_machines

from .racks import Prepared, over_ssh, prepare

pytestmark = pytest.mark.engine

DATABASE, FIRST, SECOND, NODE = "system-3", "system-1", "system-2", "training-1"
OF_SLURM = {"packages", "apptainer", "slurm", "slurm-database", "slurm-controller", "slurm-node"}


def graph() -> Recorded:
    return deployed("slurm-8n")


def stack_text() -> str:
    """The stack file."""
    return yaml.safe_dump({"config": config("slurm-8n")})


def text(name: str, concerns: Iterable[str] = OF_SLURM) -> str:
    """The bundle that makes a machine one of Slurm's; of a machine that runs jobs, without what any machine gets."""
    sent = commands(graph())
    whole = str(sent[f"slurm-{name}" if f"slurm-{name}" in sent else name].inputs["stdin"])
    before, call = whole.rstrip().rsplit("\n", 1)
    return "\n".join((before, " ".join(["run_concerns", *(word for word in call.split() if word in concerns)]), ""))


def run(
    hall: Hall, host: Host, action: str = "apply", sent: str | None = None, concerns: Iterable[str] = OF_SLURM
) -> Prepared:
    command = f"sudo -n bash -s -- {action}"
    return prepare(hall, host, sent or text(host.machine.name, concerns), command=command, user=host.machine.user)


@pytest.fixture
def site(hall: Hall) -> Iterator[dict[str, Host]]:
    """The machines of one of each kind, as they stand there before the stack."""
    found = {each.name: each for each in machines.machines(stack_text())}
    names = (DATABASE, FIRST, SECOND, NODE)
    hall.rack([found[name] for name in names])
    yield {name: hall.hosts[name] for name in names}
    for name in names:
        hall.hosts[name].power_off()


def ended(hall: Hall, site: dict[str, Host]) -> dict[str, str]:
    """What `make doctor` says of the daemons, by machine."""
    plan, where = with_machines("slurm-8n")
    its = {name: " ".join(host.keys.public.split()[:2]) for name, host in site.items()}
    there = tuple(replace(each, host_key=its[each.name]) for each in where.hosts if each.name in its)
    told = examine(plan, replace(where, hosts=there), Ssh(hall.keys.private, hall.record.enter()).ask)
    return {each.subject: each.sentence for each in told if each.check == "daemons" and each.status is not Status.OK}


def active(host: Host) -> set[str]:
    starts = {"start", "restart", "--now"}
    started = {call[-1] for call in host.calls() if call[0] == "systemctl" and starts & set(call)}
    return {each.removesuffix(".service") for each in started}


def test_every_daemon_runs_and_a_second_run_changes_nothing(hall: Hall, site: dict[str, Host]) -> None:
    for name, host in site.items():
        first = run(hall, host)
        assert first.status == 0, (name, first.lines)
        assert run(hall, host).all_ok(), name
    assert {"munge", "mariadb", "slurmdbd"} <= active(site[DATABASE])
    assert {"munge", "slurmctld"} <= active(site[FIRST]) & active(site[SECOND])
    assert {"munge", "slurmd"} <= active(site[NODE])
    assert site[DATABASE].state()["accounts"]["cluster"] == ["mine"]
    assert "gpu-training" in site[FIRST].state()["accounts"]["account"]
    assert "accounts" not in site[SECOND].state(), "the first controller makes them"
    keys = {(host.disk / "etc/munge/munge.key").read_bytes() for host in site.values()}
    assert len(keys) == 1
    assert ended(hall, site) == {}
    over_ssh(hall, site[FIRST], "sudo -n systemctl stop slurmctld", user=site[FIRST].machine.user)
    assert ended(hall, site) == {FIRST: "slurmctld is inactive"}
    assert run(hall, site[FIRST]).status == 0
    for name in (DATABASE, FIRST, SECOND):
        site[name].power_off()
        site[name].power_on()
        assert run(hall, site[name]).all_ok(), "a boot brings the daemons back"


def test_undoing_ends_the_daemons_and_keeps_accounts_and_state(hall: Hall, site: dict[str, Host]) -> None:
    host, head = site[DATABASE], site[FIRST]
    own_key = (head.disk / "etc/munge/munge.key").exists()
    for each in (host, head):
        assert run(hall, each).status == 0
    for each in (head, host):
        assert run(hall, each, "undo").status == 0
    assert not own_key
    assert not (head.disk / "etc/slurm/slurm.conf").exists()
    assert not (host.disk / "etc/slurm/slurmdbd.conf").exists()
    assert (head.disk / "mnt/shared/slurm/state").is_dir()
    assert host.state()["accounts"]["cluster"] == ["mine"]
    removed = [call for call in host.calls() if call[:2] == ["apt-get", "remove"]]
    assert "mariadb-server" in removed[-1]
    assert not [call for call in host.calls() if "purge" in call or (call[0] == "mariadb" and "DROP" in " ".join(call))]


def test_no_secret_is_in_an_argument_or_in_a_log(hall: Hall, site: dict[str, Host]) -> None:
    host = site[DATABASE]
    assert run(hall, host).status == 0
    conf = (host.disk / "etc/slurm/slurmdbd.conf").read_text()
    (password,) = [line.partition("=")[2] for line in conf.splitlines() if line.startswith("StoragePass=")]
    assert len(password) == 64
    assert not [call for call in host.calls() if password in " ".join(call)]
    assert password not in (host.disk / "var/log/gpucluster.log").read_text(errors="replace")


def test_a_node_of_kubernetes_and_a_host_of_another_name_are_left_alone(hall: Hall, site: dict[str, Host]) -> None:
    host = site[NODE]
    assert run(hall, host, concerns={"packages", "slurm"}).status == 0
    (host.disk / "etc/kubernetes/kubelet.conf").write_text("joined")
    said = run(hall, host, concerns={"slurm", "slurm-node"})
    assert "is a node of Kubernetes" in said.lines["slurm-node"]
    assert "slurmd" not in active(host)
    said = run(hall, host, sent=text(FIRST, {"slurm"}))
    assert "slurm.conf calls it system-1: hostnamectl set-hostname system-1" in said.lines["slurm"]
