"""No script of a host reboots it, powers it off or resets it by itself: it says that somebody should."""

import re
import subprocess
from pathlib import Path

import pytest

HOST = Path(__file__).parents[2] / "node" / "host"
ENDS = re.compile(
    r"\b(reboot|poweroff|shutdown|halt|kexec|telinit|ipmitool|mlxfwreset)\b"
    r"|\binit +[06]\b|\bsystemctl\b.*\b(rescue|emergency|isolate|soft-reboot|suspend|hibernate)\b"
    r"|sysrq|--gpu-reset|\bnvidia-smi\b.* -r\b|\bkubeadm +reset\b|\bremove +.*/sys/bus/pci|/sys/bus/pci/rescan"
)
"""What ends a machine or a device of it, or undoes it: systemctl(1), sysrq.rst, nvidia-smi(1), kubeadm reset."""

BEHIND_A_WORD = {"lib.sh: kubeadm reset --force ||"}
"""In leave_cluster, which refuses without the serial in inventory.allowReset."""


_SAID = re.compile(r'\bfail "(?:[^"$]|\$\([^()]*\)|\$)*"')
_RUN = re.compile(r"\$\([^()]*\)")


def ends(name: str, text: str) -> list[str]:
    """Lines that end a machine, without what is only said: comments, and the words of `fail` but for what they run."""
    lines = (re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    done = (_SAID.sub(lambda said: " ".join(_RUN.findall(said[0])), line) for line in lines)
    return [f"{name}: {line.strip()}" for line in done if ENDS.search(line)]


def test_nothing_ends_a_host_by_itself() -> None:
    scripts = sorted(HOST.glob("*.sh"))
    assert len(scripts) > 30
    assert [line for each in scripts for line in ends(each.name, each.read_text("utf-8"))] == sorted(BEHIND_A_WORD)


@pytest.mark.parametrize(("allowed", "reset"), [("", False), ("SN10 SN2", False), ("SN2 SN1", True)])
def test_a_host_is_reset_only_where_its_serial_is_named(tmp_path: Path, allowed: str, *, reset: bool) -> None:
    found = re.search(r"^leave_cluster\(\) \{.*?^\}", (HOST / "lib.sh").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found
    (tmp_path / "kubelet.conf").touch()
    played = 'serial() { echo SN1; }; kubeadm() { echo kubeadm "$@"; }; changed() { :; }; fail() { exit 1; }'
    body = found[0].replace("/etc/kubernetes/kubelet.conf", str(tmp_path / "kubelet.conf"))
    words = ["bash", "-eu", "-c", f"{played}\n{body}\nleave_cluster"]
    env = {"GPUCLUSTER_ALLOW_RESET": allowed, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == ("kubeadm reset --force\n" if reset else "")


@pytest.mark.parametrize(
    "line",
    [
        "reboot",
        "    modprobe -r mlx5_core || systemctl reboot",
        'sh -c "sleep 1; shutdown -r now"',
        "echo b >/proc/sysrq-trigger",
        "nvidia-smi --gpu-reset",
        "[ -f /run/late ] && init 6",
        'ready || kubeadm reset --force || fail "it could not be reset"',
        "systemctl isolate rescue.target",
        'fail "it is late: $(reboot)"',
    ],
)
def test_a_script_that_did_is_found(line: str) -> None:
    assert ends("x.sh", f"set -eu\n{line}\n")


@pytest.mark.parametrize("line", ['fail "drain it and reboot"', "# stays until a reboot", "true  # and after a reboot"])
def test_what_is_only_said_is_not(line: str) -> None:
    assert ends("x.sh", line) == []
