"""The files as they are written: what was wrong in the documents behind them is right, and nothing of it is secret."""

import re
from pathlib import Path

import pytest

from planner.slurm_types import SlurmPlan
from slurm.__main__ import main, write
from slurm.accounts import PASSWORD, accounts_sh
from slurm.bundle import files, left_out
from slurm.controller import slurm_conf
from tests.slurm.stacks import as_shipped, planned
from tests.stacks.test_metal_presets import METAL, inventory

GOLDEN = Path(__file__).parent / "golden"


def bundle(name: str) -> dict[str, str]:
    return files(name, *as_shipped(name))


def keys(text: str) -> dict[str, str]:
    """The values of a file of single keys; of a key that stands there twice the last one."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "NodeName", "PartitionName"))]
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize(
    "path", ["slurm.conf", "topology.conf", "accounts.sh", "jobs/llama-2-7b.sbatch", "jobs/nccl-training.sbatch"]
)
def test_the_preset_is_what_was_looked_at(path: str, accept: bool) -> None:
    """A15, W01, W02: as a golden file, so that a change of it is seen."""
    golden, text = GOLDEN / "slurm-8n" / path, bundle("slurm-8n")[path]
    if accept:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text, "run make accept, and read the difference"


@pytest.mark.parametrize("name", METAL)
def test_every_preset_has_what_a_cluster_needs(name: str) -> None:
    """W03, W04: with gres.conf where there are GPUs (SL08), and control groups in any case (SL09)."""
    found, slurm = bundle(name), as_shipped(name)[1]
    gpus = any(each.gpus for each in slurm.nodes)
    assert {"slurm.conf", "cgroup.conf", "slurmdbd.conf", "accounts.sh", "job_submit.lua"} <= set(found)
    assert ("gres.conf" in found) is gpus
    assert ("GresTypes=gpu" in found["slurm.conf"]) is gpus
    assert ("topology.conf" in found) is ("topology/tree" in found["slurm.conf"])


def test_the_first_controller_is_named_first() -> None:
    """SL06, W10: SlurmctldHost, twice; the state lies where both reach it."""
    lines = [line for line in bundle("slurm-8n")["slurm.conf"].splitlines() if line.startswith("SlurmctldHost")]
    assert lines == ["SlurmctldHost=system-0", "SlurmctldHost=system-1"]
    assert keys(bundle("slurm-8n")["slurm.conf"])["StateSaveLocation"] == "/mnt/shared/slurm/state"
    assert keys(bundle("lab-metal")["slurm.conf"])["StateSaveLocation"] == "/var/spool/slurmctld"


def test_addresses_are_those_of_the_inventory() -> None:
    whole, slurm = planned("slurm-8n", inventory=inventory("slurm-8n"))
    text = slurm_conf("hall", slurm)
    assert "SlurmctldHost=system-1(10.20.0.10)" in text
    assert len(re.findall(r"^NodeName=training-\d NodeAddr=10\.20\.0\.\d+ Sockets=2 ", text, re.MULTILINE)) == 8
    assert "AccountingStorageHost=10.20.0.12" in text
    assert whole.errors == ()


@pytest.mark.parametrize(
    ("correction", "right"),
    [
        ("SL02", "PriorityDecayHalfLife=7-0"),
        ("SL03", "PriorityUsageResetPeriod=NONE"),
        ("SL04", "PriorityCalcPeriod=5"),
        ("SL07", "PriorityTier=1 PriorityJobFactor=1"),
        ("SL09", "ProctrackType=proctrack/cgroup"),
        ("SL10", "Sockets=2 CoresPerSocket=64 ThreadsPerCore=2"),
        ("SL11", "DefMemPerGPU=186856"),
        ("SL20", "AccountingStorageType=accounting_storage/slurmdbd"),
        ("DC04", "HealthCheckProgram=/etc/slurm/gpucluster/health.sh"),
        ("DC06", "HealthCheckInterval=300"),
    ],
)
def test_it_says_what_is_right(correction: str, right: str) -> None:
    assert right in bundle("slurm-8n")["slurm.conf"], correction


@pytest.mark.parametrize(
    ("correction", "wrong"),
    [
        ("SL05", "MaxJobCount"),
        ("SL11", "DefMemPerNode"),
        ("SL19", "EpilogMsgTime"),
    ],
)
def test_it_leaves_alone_what_has_a_right_default(correction: str, wrong: str) -> None:
    """SL05, SL19: the controller's memory, and microseconds of no account."""
    assert wrong not in bundle("slurm-8n")["slurm.conf"], correction


@pytest.mark.parametrize("name", METAL)
def test_nodes_are_drained_and_nothing_is_written_over_their_features(name: str) -> None:
    """SL15, SL16, SL17: scripts drain with a reason; they neither take down nor mark by a feature."""
    scripts = "\n".join(text for path, text in bundle(name).items() if path.endswith(".sh"))
    assert len(re.findall(r"scontrol update .* state=drain reason=", scripts)) >= 2
    assert not re.search(r"(?i)state=(down|up)\b|features?=", scripts)


def test_what_preempts_is_a_quality_and_no_share() -> None:
    """SL18."""
    text = bundle("slurm-8n")["accounts.sh"]
    assert 'modify qos training set priority=1000 preempt="experiments"' in text
    off = planned("slurm-8n", slurm={"preempt": "off"})[1]
    assert 'preempt=""' in accounts_sh("hall", off)
    assert keys(slurm_conf("hall", off))["PreemptType"] == "preempt/none"
    assert "PreemptMode" not in slurm_conf("hall", off)


def test_settings_arrive() -> None:
    weights = {"age": 1, "fairShare": 2, "jobSize": 3, "partition": 4, "qos": 5}
    section = {
        "maxJobsPerUser": 7,
        "maxHours": 36.5,
        "preempt": "cancel",
        "halfLifeDays": 14,
        "weights": weights,
        "pools": [],
        "sharedPath": "/lustre",
        "scratchPath": "/nvme",
    }
    whole, slurm = planned("slurm-8n", slurm=section)
    found = files("hall", whole, slurm)
    conf = keys(found["slurm.conf"])
    asked = ("Age", "Fairshare", "JobSize", "Partition", "QOS")
    assert [conf[f"PriorityWeight{name}"] for name in asked] == ["1", "2", "3", "4", "5"]
    assert (conf["PreemptMode"], conf["PriorityDecayHalfLife"]) == ("CANCEL", "14-0")
    assert conf["SchedulerParameters"] == "bf_continue,bf_window=2190"
    assert "MaxTime=2190 " in found["slurm.conf"]
    assert found["accounts.sh"].count("MaxJobsPerUser=7") == 2
    assert "SHARED=/lustre\nSCRATCH=/nvme\n" in found["gpucluster/training/machine.conf"]
    assert "/lustre/images/ml-trainer-1.0.sif" in found["jobs/llama-2-7b.sbatch"]


def test_a_longer_save_has_its_time_before_it_is_killed(as_planned: SlurmPlan) -> None:
    assert as_planned.grace_s == 90
    assert keys(slurm_conf("hall", as_planned))["KillWait"] == "90"
    assert "GraceTime=90 " in accounts_sh("hall", as_planned)


@pytest.fixture
def as_planned() -> SlurmPlan:
    (run,) = ({**each} for each in preset_runs())
    run["checkpoint"] = {"everyMinutes": 60, "withinSeconds": 90}
    return planned("slurm-8n", training={"runs": [run]})[1]


def preset_runs() -> list[dict[str, object]]:
    from settings.presets import preset

    found: list[dict[str, object]] = preset("slurm-8n")["training"]["runs"]
    return found


def test_no_password_is_written_and_the_file_is_its_owners(tmp_path: Path) -> None:
    """W07: munge's key and the database's password are the site's to make."""
    write(tmp_path, bundle("slurm-8n"))
    file = tmp_path / "slurmdbd.conf"
    assert f"StoragePass={PASSWORD}" in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "gpucluster" / "prolog.sh").stat().st_mode & 0o111
    assert not any("munge.key" in path for path in bundle("slurm-8n"))


def test_the_command_writes_them_and_says_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--preset", "h200-32n", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "files for system-0, system-1 and the machines of training" in said
    assert "not here: experiment" in said
    assert (tmp_path / "out" / "slurm.conf").read_text(encoding="utf-8").startswith("# Slurm of h200-32n")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--preset", "slurm-9n"], 2, "slurm-8n"),
        (["--stack", "prood"], 2, "there is no Pulumi.prood.yaml"),
        (["--preset", "lab-cloud"], 2, "on AWS take ParallelCluster or PCS"),
    ],
)
def test_a_wrong_command_says_what_to_type(
    words: list[str], status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--out", str(tmp_path)]) == status
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_stays_with_kubernetes_is_said() -> None:
    """A09."""
    said = list(left_out(*as_shipped("h100-8n")))
    assert "pool inference serves models, and stays with Kubernetes" in said
    assert list(left_out(*as_shipped("slurm-8n"))) == [] or all(
        "object store" in each for each in left_out(*as_shipped("slurm-8n"))
    )
