"""The checks around jobs on a machine whose programs say what is wrong: who drains, why, and who does not."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from slurm.checks import FATAL, scripts
from tests.slurm.programs import PROGRAMS

SCONTROL = '#!/bin/bash\necho "$*" >>"$STATE/drained"\n'
MOUNTPOINT = '#!/bin/bash\n[ ! -e "$STATE/unmounted" ]\n'
NODE = "gpu-1"


class Machine:
    """A machine with eight GPUs and two links. `told` is where one says what is wrong with it."""

    def __init__(self, root: Path) -> None:
        self.root, self.told = root, root / "told"
        for name in ("told", "bin", "etc"):
            (root / name).mkdir()
        for name, text in {**PROGRAMS, "scontrol": SCONTROL, "mountpoint": MOUNTPOINT}.items():
            (root / "bin" / name).write_text(text, encoding="utf-8")
            (root / "bin" / name).chmod(0o755)
        for name, text in scripts().items():
            (root / "etc" / name).write_text(text, encoding="utf-8")
        for link in ("mlx5_0", "mlx5_1"):
            port = root / "sys" / "class" / "infiniband" / link / "ports" / "1"
            port.mkdir(parents=True)
            (port / "state").write_text("4: ACTIVE\n", encoding="utf-8")
        self.conf = root / "etc" / "machine.conf"
        self.conf.write_text(
            f'GPUS=8\nLINKS=2\nSHARED=/mnt/shared\nSCRATCH={root}/scratch\nXIDS="{" ".join(FATAL)}"\n'
            f"PATH={root}/bin:$PATH\nSYS={root}/sys\nSEEN={root}/seen\nexport STATE={self.told}\n",
            encoding="utf-8",
        )

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """As slurmd does: without a search path."""
        own = {"SLURMD_NODENAME": NODE, "SLURM_JOB_ID": "17", **environment}
        words = ["/bin/bash", str(self.root / "etc" / script)]
        return subprocess.run(words, env=own, capture_output=True, text=True, timeout=60, check=False)

    @property
    def drained(self) -> list[str]:
        file = self.told / "drained"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("script", ["prolog.sh", "epilog.sh", "health.sh"])
def test_a_sound_machine_is_left_alone(machine: Machine, script: str) -> None:
    done = machine.run(script, SLURM_JOB_GPUS="0,1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.drained == []


def lost(machine: Machine) -> None:
    (machine.told / f"lost-{NODE}").touch()


def remap(machine: Machine) -> None:
    (machine.told / f"remap-{NODE}").touch()


def xid(machine: Machine) -> None:
    line = "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."
    (machine.told / f"xid-{NODE}").write_text(f"{line}\n", encoding="utf-8")


def dcgm(machine: Machine) -> None:
    (machine.told / f"dcgm-{NODE}").write_text("Failure", encoding="utf-8")


def link(machine: Machine) -> None:
    path = machine.root / "sys" / "class" / "infiniband" / "mlx5_1" / "ports" / "1" / "state"
    path.write_text("1: DOWN\n", encoding="utf-8")


def unmounted(machine: Machine) -> None:
    (machine.told / "unmounted").touch()


def untold(machine: Machine) -> None:
    """Without machine.conf nothing is known of it, its programs' directory included."""
    machine.conf.unlink()


CASES: dict[str, tuple[Callable[[Machine], None], set[str], str]] = {
    "lost": (lost, {"prolog", "epilog", "health"}, "nvidia-smi shows 7 GPUs of 8"),
    "remap": (remap, {"epilog", "health"}, "row remap failed on GPU-00000000-0000-0000-0000-000000000000"),
    "xid": (xid, {"epilog", "health"}, "XID 79 in the kernel's log"),
    "dcgm": (dcgm, {"epilog", "health"}, "DCGM: Overall Health Failure"),
    "link": (link, {"prolog", "epilog", "health"}, "1 links of 2 are up"),
    "unmounted": (unmounted, {"prolog", "health"}, "/mnt/shared is not mounted"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("script", ["prolog", "epilog", "health"])
def test_what_is_wrong_is_said_by_who_looks_at_it(machine: Machine, name: str, script: str) -> None:
    """U05, U06, DC07, DC08, DC09, SL17: a prolog fails, which drains; the others drain by name and sentence."""
    break_it, by, sentence = CASES[name]
    break_it(machine)
    done = machine.run(f"{script}.sh")
    if script == "prolog":
        assert done.returncode == (1 if script in by else 0)
        assert done.stderr.strip() == (sentence if script in by else "")
        assert machine.drained == []
    else:
        assert done.returncode == 0
        wanted = [f"update nodename={NODE} state=drain reason={sentence}"] if script in by else []
        assert machine.drained == wanted


def test_a_machine_that_is_told_nothing_gets_no_job(machine: Machine) -> None:
    untold(machine)
    done = machine.run("prolog.sh")
    assert done.returncode == 1
    assert "machine.conf is missing" in done.stderr


def test_processes_that_a_job_left_on_its_gpus_drain_the_node(machine: Machine) -> None:
    (machine.told / f"left-{NODE}").write_text("4711\n4712\n", encoding="utf-8")
    machine.run("epilog.sh")
    assert machine.drained == []
    machine.run("epilog.sh", SLURM_JOB_GPUS="2,3")
    assert machine.drained[0].endswith("reason=processes are left on GPUs after job 17: 4711 4712")


def test_an_application_error_and_a_warning_drain_nobody(machine: Machine) -> None:
    """XID 13 is the application's, XID 94 contained; DCGM's Warning is for a person."""
    lines = "".join(f"NVRM: Xid (PCI:0000:1b:00): {code}, pid=1\n" for code in (13, 31, 94, 790))
    (machine.told / f"xid-{NODE}").write_text(lines, encoding="utf-8")
    (machine.told / f"dcgm-{NODE}").write_text("Warning", encoding="utf-8")
    machine.run("health.sh")
    assert machine.drained == []


def test_dcgm_is_told_what_to_watch_once(machine: Machine) -> None:
    """DC01: by dcgmi on the node itself."""
    machine.run("health.sh")
    assert (machine.told / f"watched-{NODE}").exists()


def test_an_epilog_takes_the_jobs_own_files_and_no_others(machine: Machine) -> None:
    for job in ("17", "18"):
        (machine.root / "scratch" / job).mkdir(parents=True)
    machine.run("epilog.sh")
    assert [path.name for path in (machine.root / "scratch").iterdir()] == ["18"]
    machine.run("epilog.sh", SLURM_JOB_ID="../etc")
    machine.run("epilog.sh", SLURM_JOB_ID="")
    assert machine.conf.exists()
    assert (machine.root / "scratch" / "18").exists()


def test_shellcheck_finds_nothing() -> None:
    """DC08."""
    source = Path(__file__).resolve().parents[2] / "node" / "slurm"
    found = [str(path) for path in sorted(source.glob("*.sh"))]
    try:
        done = subprocess.run(
            ["shellcheck", "-x", "-P", str(source), *found], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("shellcheck is not installed: apt-get install shellcheck")
    assert done.returncode == 0, done.stdout
    assert os.access(source / "prolog.sh", os.X_OK)
