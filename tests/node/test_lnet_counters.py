"""What tells Prometheus what LNet carries, run on what `lnetctl net show -v` prints (G05)."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "node" / "lustre" / "counters.sh"
INTERFACE = """\
        - nid: {nid}
          status: {status}
          interfaces:
              0: {device}
          statistics:
              send_count: {sent}
              recv_count: {received}
              drop_count: {dropped}
          tunables:
              peer_timeout: 180
              peer_credits: 32
"""
"""Source: Lustre manual, "LNet Multi-Rail", `lnetctl net show -v`."""


def network(name: str, *interfaces: tuple[str, int, int, int]) -> str:
    """A network with interfaces of so many messages sent, received and dropped."""
    listed = "".join(
        INTERFACE.format(nid=f"10.0.{n}.9@{name}", device=f"dev{n}", status=s, sent=a, received=b, dropped=c)
        for n, (s, a, b, c) in enumerate(interfaces)
    )
    return f"    - net type: {name}\n      local NI(s):\n{listed}"


LOOP = network("lo", ("up", 9, 9, 0))


def told(place: Path, shown: str, code: int = 0) -> tuple[int, dict[str, str]]:
    """Exit code and samples by name, where lnetctl prints that and ends so."""
    tool = place / "lnetctl"
    tool.write_text(f"#!/bin/bash\n[ \"$*\" = 'net show -v' ] || exit 9\ncat <<'END'\nnet:\n{shown}END\nexit {code}\n")
    tool.chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", str(SCRIPT), "8"],
        env={"PATH": f"{place}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


def messages(net: str, direction: str) -> str:
    return f'node_lnet_messages_total{{net="{net}",direction="{direction}"}}'


def test_interfaces_of_a_network_are_added_up(tmp_path: Path) -> None:
    efa = network("efa", ("up", 4_000_000_000, 10, 1), ("down", 7, 5, 0), ("up", 1_000_000_000, 0, 2))
    code, samples = told(tmp_path, LOOP + network("tcp", ("up", 12, 11, 0)) + efa)
    assert code == 0
    assert samples == {
        'node_lnet_interfaces_wanted{net="efa"}': "8",
        'node_lnet_interfaces_up{net="efa"}': "2",
        'node_lnet_interfaces_up{net="tcp"}': "1",
        messages("efa", "sent"): "5000000007",
        messages("efa", "received"): "15",
        messages("efa", "dropped"): "3",
        messages("tcp", "sent"): "12",
        messages("tcp", "received"): "11",
        messages("tcp", "dropped"): "0",
    }


def test_a_node_that_fell_back_has_no_interface_of_efa(tmp_path: Path) -> None:
    """A network that is not there is told as one without interfaces: what is missing raises no alert in Prometheus."""
    _, samples = told(tmp_path, LOOP + network("tcp", ("up", 12, 11, 0)))
    assert samples['node_lnet_interfaces_up{net="efa"}'] == samples[messages("efa", "sent")] == "0"


def test_where_lnet_does_not_answer_the_script_fails(tmp_path: Path) -> None:
    """What it printed until then is no file of the node's."""
    assert told(tmp_path, LOOP, code=1)[0] != 0
