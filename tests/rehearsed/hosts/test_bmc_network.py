"""Nobody but the control plane's own machines reaches management controllers: by this machine's kernel, in networks of
its own, and on rehearsed hosts, whose `ip rule` is simulated.
"""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rehearsal.metal.hall import Hall

from .bundles import HOST, bundle
from .conftest import LACKING, Rack
from .racks import over_ssh, prepare

pytestmark = pytest.mark.engine

BMC, CIDR, PODS, POD = "10.20.4.21", "10.20.4.0/22", "10.244.0.0/16", "10.244.1.5"
OTHER = "10.20.0.99"
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 443), 3).recv(2)"
LISTEN = """
import socket
server = socket.create_server(("0.0.0.0", 443))
print("ready", flush=True)
while True:
    server.accept()[0].sendall(b"ok")
"""


@dataclass
class Networks:
    """A machine between a pod and a server that has a controller's address and another one."""

    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def add(self, name: str, *words: str) -> None:
        made = subprocess.Popen(["unshare", "--net", *words], stdout=subprocess.PIPE, text=True)
        self.processes[name] = made
        assert made.stdout is not None
        assert made.stdout.readline() == "ready\n"
        self.run(name, "ip", "link", "set", "lo", "up")

    def run(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        inside = ["nsenter", f"--net=/proc/{self.processes[name].pid}/ns/net", *words]
        return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=30)

    def must(self, name: str, line: str) -> None:
        done = self.run(name, *line.split())
        assert done.returncode == 0, (line, done.stderr)

    def join(self, name: str, port: str, other: str) -> None:
        self.must(name, f"ip link add {port} type veth peer name link0 netns {self.processes[other].pid}")
        for where, link in ((name, port), (other, "link0")):
            self.must(where, f"ip link set {link} up")

    def reaches(self, name: str, address: str) -> bool:
        done = self.run(name, sys.executable, "-c", CONNECT, address)
        assert done.returncode == 0 or "Error" in done.stderr, done.stderr
        return done.returncode == 0


@pytest.fixture
def networks() -> Iterator[Networks]:
    if LACKING:
        pytest.skip(LACKING)
    made = Networks()
    wait = ("sh", "-c", "echo ready; exec sleep 300")
    try:
        made.add("machine", *wait)
        made.add("pod", *wait)
        made.add("controller", sys.executable, "-c", LISTEN)
        made.join("machine", "eth0", "controller")
        made.join("machine", "lxc0", "pod")
        made.must("machine", "ip address add 10.20.0.21/32 dev eth0")
        made.must("machine", "ip route add default dev eth0")
        made.must("machine", f"ip route add {POD}/32 dev lxc0")
        made.must("machine", "sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.proxy_arp=1")
        for address in (BMC, OTHER):
            made.must("controller", f"ip address add {address}/32 dev link0")
        made.must("pod", f"ip address add {POD}/32 dev link0")
        for where in ("controller", "pod"):
            made.must(where, "ip route add default dev link0")
        yield made
    finally:
        for each in made.processes.values():
            each.kill()
            each.communicate()


def program(directory: Path, *, source: str) -> Path:
    """What the concern writes to a machine."""
    told = f"GPUCLUSTER_BMC_CIDR={CIDR}\nGPUCLUSTER_BMC_FROM={source}\n"
    text = f"{told}. {HOST / 'bmc-network.sh'}\nbmc_network_program\n"
    written = directory / "gpucluster-bmc-network"
    written.write_text(subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True).stdout)
    written.chmod(0o755)
    return written


def test_neither_an_ordinary_machine_nor_its_pods_reach_a_controller(networks: Networks, tmp_path: Path) -> None:
    assert all(networks.reaches(name, address) for name in ("machine", "pod") for address in (BMC, OTHER))
    ours = str(program(tmp_path, source="all"))
    assert networks.run("machine", ours, "--check").returncode == 1
    networks.must("machine", ours)
    networks.must("machine", f"{ours} --check")
    assert not networks.reaches("machine", BMC)
    assert not networks.reaches("pod", BMC)
    assert networks.reaches("machine", OTHER)
    assert networks.reaches("pod", OTHER)
    networks.must("machine", f"{ours} --remove")
    assert networks.reaches("pod", BMC)


def test_a_machine_of_the_control_plane_reaches_them_and_its_pods_do_not(networks: Networks, tmp_path: Path) -> None:
    """The rule of an ordinary machine goes when the machine becomes one; rules of others stay."""
    networks.must("machine", str(program(tmp_path, source="all")))
    networks.must("machine", "ip rule add priority 5 to 10.99.0.0/16 lookup main")
    ours = str(program(tmp_path, source=PODS))
    for _ in range(2):
        networks.must("machine", ours)
        networks.must("machine", f"{ours} --check")
    assert networks.reaches("machine", BMC)
    assert not networks.reaches("pod", BMC)
    assert networks.reaches("pod", OTHER)
    rules = networks.run("machine", "ip", "rule", "show", "priority", "5").stdout
    assert [line.split("\t")[1].strip() for line in rules.splitlines()] == [
        "from all to 10.99.0.0/16 lookup main",
        f"from {PODS} to {CIDR} prohibit",
    ]


def test_an_interface_in_their_network_is_no_way_around(networks: Networks, tmp_path: Path) -> None:
    networks.must("machine", "ip address add 10.20.7.254/22 dev eth0")
    assert networks.reaches("machine", BMC)
    networks.must("machine", str(program(tmp_path, source="all")))
    assert not networks.reaches("machine", BMC)


def rules(hall: Hall, host: object) -> list[str]:
    said = over_ssh(hall, host, "ip rule show").stdout  # type: ignore[arg-type]
    return [line.partition("\t")[2] for line in said.splitlines() if line.startswith("5:")]


def test_a_host_holds_one_rule_through_changes_a_reboot_and_until_it_is_undone(hall: Hall, rack: Rack) -> None:
    host = rack()
    assert prepare(hall, host, bundle(("bmc-network",))).status == 0
    assert rules(hall, host) == ["from all to 10.20.4.0/22 prohibit"]
    moved = bundle(("bmc-network",), {"BMC_CIDR": "10.20.8.0/21", "BMC_FROM": PODS})
    assert prepare(hall, host, moved).status == 0
    assert rules(hall, host) == [f"from {PODS} to 10.20.8.0/21 prohibit"]
    host.power_off()
    host.power_on()
    assert rules(hall, host) == [f"from {PODS} to 10.20.8.0/21 prohibit"]
    assert prepare(hall, host, moved).all_ok()
    undone = prepare(hall, host, moved, action="undo")
    assert undone.status == 0, undone.lines
    assert rules(hall, host) == []
