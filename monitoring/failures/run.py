"""Training runs: out of memory, failed, hanging, without a recent checkpoint."""

from monitoring.failure import ON_HOST, Action, Failure, Subject
from monitoring.thresholds import Threshold

_LOGS = Action(
    "Read the last lines of the first rank that failed (its message is in the pod's status as well)",
    "kubectl logs -n training POD --previous --tail=100",
)
EVERY_NODE = Action(
    "Is one of its nodes at fault? Compare its GPUs in Prometheus",
    query='max by (node, gpu) (gpucluster:gpu:sm_clock_megahertz) and on (node, gpu) gpucluster:gpu:run{run="RUN"}',
)
IN_POOL = " * on (run) group_left (pool) (gpucluster:run:expected_nodes / gpucluster:run:expected_nodes)"

RUN = Subject(
    name="run",
    title="Training runs",
    failures=(
        Failure(
            id="out-of-memory",
            alert="ContainerOutOfMemory",
            row="OOM",
            title="A container was OOM-killed",
            signal="Containers that ended as OOMKilled (kube-state-metrics)",
            expression='gpucluster:pod:oom_killed{namespace=~"training|inference"} > 0',
            severity="warning",
            domains=("user",),
            owner="run",
            summary="Container {{ $labels.container }} of pod {{ $labels.namespace }}/{{ $labels.pod }} was"
            " OOM-killed: it exceeded its memory limit.",
            meaning="This is main memory, /dev/shm included, not GPU memory: running out of that shows as a CUDA"
            " exception in the pod's log. The kernel killed the process; a gang restarts from its last checkpoint.",
            causes=(
                "data loaders with more workers or deeper prefetch queues than the limit allows",
                "a checkpoint that gathers all shards in one process",
                "a memory leak: usage that grows with every step",
            ),
            actions=(
                Action("See limit, last state and restarts", "kubectl describe pod -n NAMESPACE POD"),
                Action(
                    "See how its memory grew",
                    query='container_memory_working_set_bytes{namespace="NAMESPACE",pod="POD"}',
                ),
                Action(
                    "Use fewer workers or less prefetching in the script, or raise `shmGib` in the stack file if"
                    " /dev/shm is full; the plan says how much memory a node has",
                    "make plan STACK=NAME",
                ),
            ),
            over="The container has run for 5 minutes, or the pod is gone.",
            link="https://pytorch.org/docs/stable/data.html#multi-process-data-loading",
            guards=("V01", "V07", "HW20"),
            more="A CUDA out-of-memory error while the GPU shows free memory is fragmentation inside the process: set"
            " `PYTORCH_ALLOC_CONF=expandable_segments:True`. nvidia-smi cannot show it, and resetting the GPU does not"
            " help. For GPU memory held by no pod see page gpu-memory-held.",
        ),
        Failure(
            id="run-failed",
            alert="RunFailed",
            row="NCCL timeout",
            title="Ranks of a training run failed",
            signal="Containers of runs that ended with Error and stay so, or restarted in the last 5 minutes"
            " (kube-state-metrics)",
            expression="(gpucluster:run:failed_pods unless on (run) gpucluster:run:oom_killed > 0)" + IN_POOL,
            severity="warning",
            domains=("user", "system", "hardware"),
            owner="run",
            summary="Pods of run {{ $labels.run }} that ended with an error: {{ $value }}.",
            meaning="Mostly NCCL's watchdog: a collective did not complete within its timeout because one rank was"
            " late, gone or in another collective. The whole gang restarts from its last checkpoint. The rank that"
            " reports the timeout is seldom the culprit; the one that fell silent first is.",
            causes=(
                "one rank crashed or waits: its log ends earlier than the others'",
                "ranks that call different collectives: a bug, or uneven data",
                "a failed node, GPU or link, which has its own alert",
            ),
            actions=(
                _LOGS,
                Action(
                    "Find the rank that fell silent first",
                    "kubectl logs -n training -l gpucluster/run=RUN --all-containers --timestamps --tail=20",
                ),
                EVERY_NODE,
            ),
            over="All ranks have run for 5 minutes, or the job is gone. If it fails again at the same step, suspect"
            " the program or its data; if at another step on the same node, suspect the node.",
            link="https://pytorch.org/docs/stable/torch_nccl_environment_variables.html",
            guards=("V01", "V03"),
            symptom=True,
            more="`run-watch` keeps its diagnosis (class, node, rank, next step) of each run's last ten failures:"
            " `kubectl get configmap -n training run-failures -o yaml`. Rule out the hardware first: `dcgmi health"
            " --check` in the exporter's pod asks the node's own host engine, not an HTTP port, and no script of"
            " DCGM takes nodes away by itself.",
        ),
        Failure(
            id="run-hangs",
            alert="RunHangs",
            title="A training run hangs in a collective",
            signal="GPUs that are busy while their tensor cores are idle (dcgm-exporter)",
            expression="(gpucluster:run:gpu_utilisation_ratio > $busy and on (run) gpucluster:run:tensor_active_ratio"
            " < $active)" + IN_POOL,
            limits={
                "busy": Threshold(
                    0.95,
                    "of the time",
                    "DCGM: utilisation counts any kernel, and NCCL's kernels spin while they wait (DC11)",
                ),
                "active": Threshold(
                    0.01,
                    "of the cycles",
                    "DCGM profiling metrics: matrix work keeps the tensor pipe at tens of percent; a waiting"
                    " kernel has none",
                ),
            },
            span="5m",
            severity="critical",
            domains=("user", "system", "hardware"),
            owner="run",
            summary="Run {{ $labels.run }} hangs: its GPUs are busy but have computed nothing for 5 minutes.",
            meaning="Every GPU waits in a collective for a rank that does not arrive, so the whole gang is paid for"
            " and does nothing. After PyTorch's timeout (10 minutes by default) the run fails and restarts from its"
            " newest checkpoint; until then its processes can still be inspected.",
            causes=(
                "a GPU that throttles, is faulty or has stopped responding",
                "a link that is down or drops packets; RoCE without PFC on one port",
                "one rank waits for storage, or calls another collective than the others",
            ),
            actions=(
                Action(
                    "See where each rank is stuck: with py-spy if the image has it, otherwise by the last log"
                    " lines of each rank",
                    "kubectl exec -n training RUN-master-0 -- sh -c 'for each in $(pgrep -f train); do"
                    " py-spy dump --pid $each; done' || kubectl logs -n training -l gpucluster/run=RUN"
                    " --prefix --timestamps --tail=5",
                ),
                EVERY_NODE,
                Action(
                    "Check the fabric of its nodes",
                    query="gpucluster:fabric:links_missing > 0 or sum by (node) (gpucluster:fabric:drops_per_second) >"
                    " 0",
                ),
            ),
            over="The tensor cores are busy again, or the run restarted. What each rank waited for when the timeout"
            " hit is in `/checkpoints/nccl-trace-rank-N`.",
            link="https://pytorch.org/docs/stable/torch_nccl_environment_variables.html",
            guards=("V03", "H15", "P20", "DC11"),
            symptom=True,
            more="On premises, check the temperatures of its GPUs (`dcgmi dmon -e 150,155 -c 1` on the node itself:"
            " `--host` would"
            " go after the subcommand, and the engine listens on loopback only), then link errors with `ibdiagnet`,"
            " then PFC and ECN of the switch ports.",
        ),
        Failure(
            id="checkpoint-old",
            alert="CheckpointOld",
            title="The newest checkpoint of a run is old",
            signal="Time since the newest complete checkpoint (the run's own metrics) against the plan's interval",
            expression="gpucluster:run:checkpoint_age_seconds > on (run) group_left (pool) $intervals *"
            " gpucluster:run:expected_checkpoint_seconds",
            limits={
                "intervals": Threshold(
                    2,
                    "intervals of the plan",
                    "the age is one interval just before each save; two say that one is missing",
                )
            },
            span="1m",
            severity="critical",
            domains=("user", "system"),
            owner="run",
            summary="The newest checkpoint of run {{ $labels.run }} is {{ $value | humanizeDuration }} old.",
            meaning="A failure now would lose all work since that checkpoint, on every GPU of the run.",
            causes=(
                "writing a checkpoint fails, or takes longer than the checkpoint interval",
                "the file system is full or slow",
                "the run hangs",
            ),
            actions=(
                Action(
                    "See what the run logs about its checkpoints",
                    "kubectl logs -n training RUN-master-0 --tail=500 | grep -i checkpoint",
                ),
                Action("Is there space left?", query="gpucluster:shared_files:used_ratio"),
                Action(
                    "List the checkpoints; one without SHA256SUMS is incomplete",
                    "kubectl exec -n training RUN-master-0 -- ls -lt /checkpoints",
                ),
            ),
            over="A newer checkpoint is complete.",
            link="https://pytorch.org/docs/stable/distributed.checkpoint.html",
        ),
        Failure(
            id="gpu-memory-held",
            alert="GpuMemoryHeld",
            title="A GPU holds memory that no pod uses",
            signal="Memory in use on GPUs that no pod holds (dcgm-exporter)",
            expression="gpucluster:gpu:idle_memory_bytes > $bytes",
            limits={
                "bytes": Threshold(
                    536_870_912,
                    "bytes",
                    "Meta's gcm warns at 15 MiB; 512 MiB leave room for a CUDA context that a monitor or the"
                    " fabric manager holds",
                )
            },
            span="10m",
            severity="warning",
            domains=("user", "system"),
            owner="platform",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} has held {{ $value | humanize1024 }}B for 10"
            " minutes, although no pod uses it.",
            meaning="A process outlived its container. Kubernetes counts the GPU as free, and the next run on it"
            " fails with a CUDA out-of-memory error.",
            causes=(
                "a process stuck in the kernel, often waiting for storage",
                "a process outside Kubernetes",
                "a driver bug",
            ),
            actions=(
                Action(
                    "Find the process",
                    f"{ON_HOST} nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv",
                ),
                Action("Keep gangs off the node", "kubectl cordon NODE"),
                Action(
                    "Kill the process; if it cannot be killed, drain and reboot the node (on machines with"
                    " NVSwitch all GPUs are reset together, with fabric manager stopped)",
                    "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
                ),
            ),
            over="The memory is free again.",
            link="https://docs.nvidia.com/deploy/nvidia-smi/index.html",
            guards=("V07", "HW19", "HW20"),
        ),
    ),
)
