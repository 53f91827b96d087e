"""Slurm reads what `make slurm` writes: the controller, its accounts in a database, and eight machines that run jobs.

Control groups and GPUs are those of one kernel without any, so that slurmd has a copy without them; containers, drivers
and DCGM are programs of these tests that say what the real ones would.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.slurm import plan_slurm
from planner.slurm_types import SlurmPlan
from settings.load import from_sections
from settings.model import MetalSettings
from slurm.bundle import files
from tests.slurm.installation import Installation, installed, lacking
from tests.slurm.programs import PROGRAMS

from .rehearsed import until

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(lacking() is not None, reason=lacking() or ""),
]

SECTIONS = {
    "preset": "slurm-8n",
    "example": True,
    "lifecycle": {"owner": "ml-platform", "costCentre": "research"},
    "scheduling": {"queues": [{"name": "gpu-training", "weight": 4}, {"name": "lab", "gpus": 8}]},
    "slurm": {"maxJobsPerUser": 2, "maxHours": 48},
}


def planned() -> tuple[MetalPlan, SlurmPlan]:
    settings = from_sections(SECTIONS)
    assert isinstance(settings, MetalSettings)
    found = plan(settings)
    assert isinstance(found, MetalPlan)
    return found, plan_slurm(settings, found)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The stack's Slurm with all of its machines, its accounts made, and whoever runs the tests a user of both."""
    root = tmp_path_factory.mktemp("slurm")
    whole, its = planned()
    # Nothing is to be saved here, so that whoever has to go need not be waited for.
    its = replace(its, grace_s=0, shared_path=str(root / "shared"), scratch_path=str(root / "scratch"))
    texts = {**files("slurm-8n", whole, its), **{f"bin/{name}": text for name, text in PROGRAMS.items()}}
    conf = texts["gpucluster/training/machine.conf"].replace(f"SHARED={root}/shared", "SHARED=/")
    texts["gpucluster/machine.conf"] = (
        f"{conf}PATH={root}/etc/bin:$PATH\nSYS={root}/sys\nexport STATE={root}/told SLURM_CONF={root}/etc/slurm.conf\n"
    )
    told = root / "told"
    told.mkdir()
    link = root / "sys" / "class" / "infiniband" / "mlx5_0" / "ports" / "1"
    link.mkdir(parents=True)
    (link / "state").write_text("4: ACTIVE\n", encoding="utf-8")
    with installed(root, texts) as here, ExitStack() as stack:
        for program in (here.etc / "bin").iterdir():
            program.chmod(0o755)
        here.run("bash", str(here.etc / "accounts.sh"))
        for account in ("gpu-training", "lab"):
            here.run("sacctmgr", "-i", "add", "user", here.user, f"account={account}")
        here.machines([host.name for host in its.nodes[0].hosts], stack, "h100:8")
        yield here


def fields(line: str) -> dict[str, str]:
    """What scontrol says in one line."""
    return dict(re.findall(r"(\w+)=(\S+)", line))


def state_of(slurm: Installation, node: str) -> dict[str, str]:
    return fields(slurm.run("scontrol", "show", "node", node, "-o").stdout)


def job_state(slurm: Installation, job: str) -> str:
    return fields(slurm.run("scontrol", "show", "job", job, "-o").stdout)["JobState"]


def test_the_machines_are_the_plans(slurm: Installation) -> None:
    """W01, W02, SL08, SL10: sockets, cores and threads, memory less the reserve, GPUs by type."""
    (nodes,) = planned()[1].nodes
    for host in nodes.hosts:
        found = state_of(slurm, host.name)
        assert (found["Sockets"], found["CoresPerSocket"], found["ThreadsPerCore"]) == ("2", "64", "2")
        assert int(found["CPUEfctv"]) == nodes.job_cpus
        assert int(found["RealMemory"]) - int(found["MemSpecLimit"]) == nodes.job_memory_mib
        assert found["Gres"].startswith("gpu:h100:8")
        assert found["AvailableFeatures"] == ",".join(nodes.features)


def test_the_partition_is_the_pools(slurm: Installation) -> None:
    """SL07, SL11: what a job does not ask for follows from its GPUs."""
    (nodes,) = planned()[1].nodes
    found = fields(slurm.run("scontrol", "show", "partition", "training", "-o").stdout)
    assert found["Nodes"] == "training-[0-7]"
    assert found["MaxTime"] == "2-00:00:00"
    assert found["JobDefaults"] == f"DefCpuPerGPU={nodes.job_cpus // 8},DefMemPerGPU={nodes.job_memory_mib // 8}"
    assert found["TRESBillingWeights"] == "GRES/gpu=1.0"
    assert (found["PriorityTier"], found["PriorityJobFactor"]) == ("1", "1")


def test_the_configuration_is_the_plans(slurm: Installation) -> None:
    """M08, SL04, SL09, U04: shares, their decay, what isolates, and when health is looked at."""
    text = slurm.run("scontrol", "show", "config").stdout
    found = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in text.splitlines())}
    assert (found["PriorityWeightAge"], found["PriorityWeightFairShare"]) == ("1000", "10000")
    assert (found["PriorityDecayHalfLife"], found["PriorityCalcPeriod"]) == ("7-00:00:00", "00:05:00")
    assert (found["PreemptType"], found["PreemptMode"]) == ("preempt/qos", "REQUEUE")
    assert (found["SelectType"], found["SelectTypeParameters"]) == ("select/cons_tres", "CR_CORE_MEMORY")
    assert (found["ProctrackType"], found["TaskPlugin"]) == ("proctrack/cgroup", "task/cgroup,task/affinity")
    assert (found["HealthCheckInterval"], found["HealthCheckNodeState"]) == ("300 sec", "IDLE")
    assert found["MaxJobCount"] == "10000"
    assert "training-[0-7]" in slurm.run("scontrol", "show", "topology").stdout


def test_accounts_are_the_queues_and_a_second_run_changes_nothing(slurm: Installation) -> None:
    """M07, M08, M09, SL05: shares by weight, GPUs of all jobs, jobs of a user, and who gives way to whom."""

    def there() -> tuple[list[str], list[str]]:
        shares = slurm.run("sacctmgr", "-nP", "show", "assoc", "where", "user=", "format=account,fairshare,grptres")
        kinds = slurm.run("sacctmgr", "-nP", "show", "qos", "format=name,priority,preempt,preemptmode,maxjobspu")
        return sorted(shares.stdout.split()), sorted(kinds.stdout.split())

    first = there()
    slurm.run("bash", str(slurm.etc / "accounts.sh"))
    assert there() == first
    assert {"gpu-training|4|", "lab|1|gres/gpu=8"} <= set(first[0])
    assert {"training|1000|experiments|cluster|2", "experiments|0||requeue|2"} <= set(first[1])


@pytest.mark.parametrize("script", ["llama-2-7b", "nccl-training"])
def test_the_controller_would_start_each_script(slurm: Installation, script: str) -> None:
    """W05, SL13: its processors, memory and GPUs exist, on all eight machines."""
    said = slurm.run("sbatch", "--test-only", str(slurm.etc / "jobs" / f"{script}.sbatch")).stderr
    assert "on nodes training-[0-7] in partition training" in said


def test_a_job_without_gpus_is_refused_with_what_to_write(slurm: Installation) -> None:
    done = slurm.run("sbatch", "--test-only", "--account=lab", "--wrap", "hostname", check=False)
    assert done.returncode == 1
    assert "partition training is for jobs with GPUs: add --gpus-per-node, or --gpus" in done.stderr


def test_a_run_starts_torchrun_on_every_machine(slurm: Installation) -> None:
    """N15, P18: eight of them meet at the first, each with its eight ranks, its saves and the fabric's variables."""
    script = slurm.etc / "jobs" / "llama-2-7b.sbatch"
    job = slurm.run("sbatch", "--parsable", str(script)).stdout.strip()
    until(lambda: job_state(slurm, job) in ("COMPLETED", "FAILED"), slurm.log("slurmctld")[-2000:])
    assert job_state(slurm, job) == "COMPLETED", (slurm.root / f"llama-2-7b-{job}.out").read_text()
    said = {path.name: path.read_text(encoding="utf-8").splitlines() for path in (slurm.root / "told").glob("run-*")}
    assert sorted(said) == [f"run-training-{number}" for number in range(8)]
    for lines in said.values():
        words = lines[0].split()
        assert words[:3] == ["exec", "--nv", "--bind"]
        assert words[words.index("torchrun") + 1 :] == [
            "--nnodes=8",
            "--nproc-per-node=8",
            "--rdzv-backend=c10d",
            f"--rdzv-id={job}",
            f"--rdzv-endpoint=training-0:{29000 + int(job) % 1000}",
            "/workspace/train.py",
        ]
        assert "NCCL_IB_HCA==mlx5_0" in lines
        assert "CHECKPOINT_DIR=/checkpoints" in lines


def test_training_takes_the_gpus_of_experiments(slurm: Installation) -> None:
    """M07, SL18: by QOS; the one that has to go waits in the queue again."""
    asked = ("--parsable", "--nodes=8", "--gpus-per-node=8", "--account=gpu-training")
    first = slurm.run("sbatch", *asked, "--qos=experiments", "--requeue", "--wrap", "sleep 300").stdout.strip()
    until(lambda: job_state(slurm, first) == "RUNNING", "the experiment does not start")
    second = slurm.run("sbatch", *asked, "--qos=training", "--wrap", "sleep 300").stdout.strip()
    until(lambda: job_state(slurm, second) == "RUNNING", "the training does not start")
    found = fields(slurm.run("scontrol", "show", "job", first, "-o").stdout)
    assert (found["JobState"], found["Restarts"]) == ("PENDING", "1")
    slurm.run("scancel", first, second)
    until(lambda: not slurm.run("squeue", "-h").stdout, "jobs are left")


def test_a_machine_that_lost_a_gpu_gets_no_job_and_says_why(slurm: Installation) -> None:
    """U05, U06, SL17: its prolog drains it, and the job runs elsewhere."""
    lost = slurm.root / "told" / "lost-training-3"
    lost.touch()
    try:
        asked = ("--parsable", "--nodes=1", "--gpus-per-node=8", "--account=lab", "--nodelist=training-3", "--requeue")
        job = slurm.run("sbatch", *asked, "--wrap", "true").stdout.strip()
        until(lambda: "DRAIN" in state_of(slurm, "training-3")["State"], slurm.log("slurmctld")[-2000:])
        until(lambda: job_state(slurm, job) == "PENDING", "the job does not go back to its queue")
        slurm.run("scancel", job)
    finally:
        lost.unlink()
    slurm.run("scontrol", "update", "nodename=training-3", "state=resume")
    until(lambda: state_of(slurm, "training-3")["State"] == "IDLE", "the machine does not come back")


def test_an_epilog_drains_with_its_sentence_and_the_job_is_over(slurm: Installation) -> None:
    """U06, DC09: an XID that a person has to follow, after a job that ended well."""
    bad = slurm.root / "told" / "xid-training-5"
    bad.write_text("NVRM: Xid (PCI:0000:1b:00): 79, pid=1234, GPU has fallen off the bus.\n", encoding="utf-8")
    try:
        asked = ("--parsable", "--nodes=1", "--gpus-per-node=8", "--account=lab", "--nodelist=training-5")
        job = slurm.run("sbatch", *asked, "--wrap", "true").stdout.strip()
        until(lambda: "DRAIN" in state_of(slurm, "training-5")["State"], slurm.log("slurmctld")[-2000:])
        assert "XID 79 in the kernel's log" in slurm.run("sinfo", "-R", "-h", "-o", "%E %N").stdout
        until(lambda: job_state(slurm, job) == "COMPLETED", "the job is not over")
    finally:
        bad.unlink()
    slurm.run("scontrol", "update", "nodename=training-5", "state=resume")


def test_every_script_of_the_bundle_is_shell_that_shellcheck_passes(slurm: Installation) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed: apt-get install shellcheck")
    found = [path for path in slurm.etc.rglob("*") if path.suffix in (".sh", ".sbatch")]
    assert len(found) >= 7
    slurm.run("shellcheck", "-x", "-P", str(slurm.etc / "gpucluster"), *map(str, sorted(found)))
