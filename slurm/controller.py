"""slurm.conf, the same on all machines. Slurm 22.05 and later know every key of it (man page slurm.conf)."""

from collections.abc import Iterator

from planner.slurm_types import HeadPlan, NodesPlan, SlurmPlan
from slurm.hostlist import hostlist

ETC = "/etc/slurm"
SCRIPTS = f"{ETC}/gpucluster"
DATABASE_PORT = 6819

HEALTH_SECONDS = 300
"""Between two looks at an idle machine, as NVIDIA/deepops' template of slurm.conf has it."""

_KILL_SECONDS = 30
"""Between SIGTERM and SIGKILL: Slurm's own default, longer where a run needs it for its last save."""

_DAY_MINUTES = 24 * 60


def slurm_conf(cluster: str, plan: SlurmPlan) -> str:
    """The whole file. `cluster` is a name of small letters, digits and dashes."""
    parts = {
        "Who controls": _control(cluster, plan),
        "How a machine is shared": _sharing(plan),
        "Who is next": _priority(plan),
        "What is written down": _accounting(plan),
        "How machines stay healthy": _health(),
    }
    lines = [f"# Slurm of {cluster}, on every machine as {ETC}/slurm.conf. `make slurm` writes it anew."]
    for title, pairs in parts.items():
        lines += ["", f"# {title}", *(f"{key}={value}" for key, value in pairs)]
    lines += ["", "# Machines", *(line for each in plan.nodes for line in _machines(each))]
    lines += ["", *(_partition(each, plan, first=not index) for index, each in enumerate(plan.nodes))]
    return "\n".join(lines) + "\n"


def state(plan: SlurmPlan) -> str:
    """Where controllers keep their state: a second one goes on with what the first has written."""
    return f"{plan.shared_path}/slurm/state" if len(plan.heads) > 1 else "/var/spool/slurmctld"


def _control(cluster: str, plan: SlurmPlan) -> Iterator[tuple[str, object]]:
    yield "ClusterName", cluster
    for head in plan.heads:
        yield "SlurmctldHost", head.name if head.address is None else f"{head.name}({head.address})"
    yield "SlurmUser", "slurm"
    yield "AuthType", "auth/munge"
    yield "CredType", "cred/munge"
    yield "StateSaveLocation", state(plan)
    yield "SlurmdSpoolDir", "/var/spool/slurmd"
    yield "SlurmctldLogFile", "/var/log/slurm/slurmctld.log"
    yield "SlurmdLogFile", "/var/log/slurm/slurmd.log"
    yield "SlurmctldPidFile", "/run/slurmctld.pid"
    yield "SlurmdPidFile", "/run/slurmd.pid"
    yield "SlurmctldTimeout", 300
    yield "SlurmdTimeout", 300
    # A node that was lost comes back by itself; one that was drained, by a person.
    yield "ReturnToService", 1
    yield "RebootProgram", "/sbin/reboot"
    yield "JobSubmitPlugins", "lua"


def _sharing(plan: SlurmPlan) -> Iterator[tuple[str, object]]:
    yield "SelectType", "select/cons_tres"
    yield "SelectTypeParameters", "CR_Core_Memory"
    yield "ProctrackType", "proctrack/cgroup"
    yield "TaskPlugin", "task/cgroup,task/affinity"
    yield "PrologFlags", "Alloc,Contain"
    # torchrun needs none; scripts that do ask for it by srun --mpi=pmix.
    yield "MpiDefault", "none"
    # RDMA pins memory: the limit is the machine's own, not that of the shell that submitted.
    yield "PropagateResourceLimitsExcept", "MEMLOCK"
    if any(each.gpus for each in plan.nodes):
        yield "GresTypes", "gpu"
    if plan.switches:
        yield "TopologyPlugin", "topology/tree"


def _priority(plan: SlurmPlan) -> Iterator[tuple[str, object]]:
    yield "SchedulerType", "sched/backfill"
    window = max(_DAY_MINUTES, plan.max_minutes or 0)
    yield "SchedulerParameters", f"bf_continue,bf_window={window}"
    yield "PriorityType", "priority/multifactor"
    yield "PriorityDecayHalfLife", f"{plan.half_life_days}-0"
    yield "PriorityCalcPeriod", 5
    yield "PriorityUsageResetPeriod", "NONE"
    yield "PriorityMaxAge", "7-0"
    yield "PriorityWeightAge", plan.weights.age
    yield "PriorityWeightFairshare", plan.weights.fair_share
    yield "PriorityWeightJobSize", plan.weights.job_size
    yield "PriorityWeightPartition", plan.weights.partition
    yield "PriorityWeightQOS", plan.weights.qos
    if plan.preempt == "off":
        yield "PreemptType", "preempt/none"
    else:
        yield "PreemptType", "preempt/qos"
        yield "PreemptMode", plan.preempt.upper()
    yield "JobRequeue", 1
    yield "KillWait", max(_KILL_SECONDS, plan.grace_s)


def _accounting(plan: SlurmPlan) -> Iterator[tuple[str, object]]:
    yield "AccountingStorageType", "accounting_storage/slurmdbd"
    yield "AccountingStorageHost", _reached(plan.database)
    yield "AccountingStoragePort", DATABASE_PORT
    yield "AccountingStorageEnforce", "associations,limits,qos,safe"
    types = sorted({each.gpu_type for each in plan.nodes if each.gpu_type})
    if types:
        yield "AccountingStorageTRES", ",".join(["gres/gpu", *(f"gres/gpu:{each}" for each in types)])
    yield "JobAcctGatherType", "jobacct_gather/cgroup"
    yield "JobAcctGatherFrequency", 30


def _health() -> Iterator[tuple[str, object]]:
    yield "Prolog", f"{SCRIPTS}/prolog.sh"
    yield "Epilog", f"{SCRIPTS}/epilog.sh"
    yield "HealthCheckProgram", f"{SCRIPTS}/health.sh"
    yield "HealthCheckInterval", HEALTH_SECONDS
    yield "HealthCheckNodeState", "IDLE"


def _reached(host: HeadPlan) -> str:
    return host.address or host.name


def _machines(nodes: NodesPlan) -> Iterator[str]:
    """One line for all of them, or for each where addresses are known."""
    words = {
        "Sockets": nodes.sockets,
        "CoresPerSocket": nodes.cores,
        "ThreadsPerCore": nodes.threads,
        "RealMemory": nodes.memory_mib,
        "MemSpecLimit": nodes.reserved_mib,
        **({"CoreSpecCount": nodes.reserved_cores} if nodes.reserved_cores else {}),
        **({"Gres": f"gpu:{nodes.gpu_type}:{nodes.gpus}"} if nodes.gpus else {}),
        "Feature": ",".join(nodes.features),
        "State": "UNKNOWN",
    }
    rest = " ".join(f"{key}={value}" for key, value in words.items())
    if any(host.address for host in nodes.hosts):
        for host in nodes.hosts:
            yield f"NodeName={host.name} NodeAddr={host.address} {rest}"
    else:
        yield f"NodeName={hostlist(host.name for host in nodes.hosts)} {rest}"


def _partition(nodes: NodesPlan, plan: SlurmPlan, *, first: bool) -> str:
    """A pool's partition. Memory and processors that a job does not ask for follow from its GPUs (SL11)."""
    if nodes.gpus:
        amounts: dict[str, object] = {
            "DefCpuPerGPU": nodes.job_cpus // nodes.gpus,
            "DefMemPerGPU": nodes.job_memory_mib // nodes.gpus,
            # What is used counts by GPUs alone; without weights Slurm counts processors.
            "TRESBillingWeights": "GRES/gpu=1.0",
        }
    else:
        amounts = {"DefMemPerCPU": nodes.job_memory_mib // nodes.job_cpus}
    limit = "UNLIMITED" if plan.max_minutes is None else plan.max_minutes
    words = {
        "PartitionName": nodes.pool,
        "Nodes": hostlist(host.name for host in nodes.hosts),
        "Default": "YES" if first else "NO",
        "MaxTime": limit,
        "PriorityTier": 1,
        "PriorityJobFactor": 1,
        "OverSubscribe": "NO",
        **amounts,
        "State": "UP",
    }
    return " ".join(f"{key}={value}" for key, value in words.items())
