"""Training runs: out of memory, ended, hanging, starved, slow, unsaved."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

_LOGS = Action(
    say="Read what the first rank that failed said (its own message stands in the pod's status too)",
    command="kubectl logs -n training POD --previous --tail=100",
)
EVERY_NODE = Action(
    say="Is one of its nodes sick? Compare its GPUs, in Prometheus",
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
            title="A container was killed for memory",
            signal="Containers that ended as OOMKilled (kube-state-metrics)",
            expression='gpucluster:pod:oom_killed{namespace=~"training|inference"} > 0',
            limits={},
            span="0s",
            severity="warning",
            domains=("user",),
            owner="run",
            summary="Container {{ $labels.container }} of pod {{ $labels.namespace }}/{{ $labels.pod }} was killed: it"
            " used more memory than its limit.",
            meaning="This is main memory, /dev/shm included, not GPU memory: that ends in an exception of"
            " CUDA in the pod's log. The kernel ended the process; a gang begins again from its last"
            " checkpoint.",
            causes=(
                "data loaders with more workers or a deeper queue than the limit allows",
                "a checkpoint that collects all shards in one process",
                "a leak: memory that grows with every step",
            ),
            actions=(
                Action(say="See limit, last state and restarts", command="kubectl describe pod -n NAMESPACE POD"),
                Action(
                    say="See how it grew",
                    query='container_memory_working_set_bytes{namespace="NAMESPACE",pod="POD"}',
                ),
                Action(
                    say="Lower workers and prefetching in the script, or raise `shmGib` in the stack file if"
                    " /dev/shm is full; the plan says what a node has",
                    command="make plan STACK=NAME",
                ),
            ),
            over="The container runs for 5 minutes, or the pod is gone.",
            link="https://pytorch.org/docs/stable/data.html#multi-process-data-loading",
            guards=("V01", "V07", "HW20"),
            more="A CUDA out-of-memory error while the GPU shows free memory is fragmentation inside the process: set"
            " `PYTORCH_ALLOC_CONF=expandable_segments:True`. nvidia-smi cannot show it, and resetting the GPU does not"
            " help. Memory that a GPU holds without any pod is gpu-memory-held.",
        ),
        Failure(
            id="run-failed",
            alert="RunFailed",
            row="NCCL timeout",
            title="Ranks of a training run ended with an error",
            signal="Containers of runs that ended with Error, and stay so or began again in the last 5 minutes"
            " (kube-state-metrics)",
            expression="(gpucluster:run:failed_pods unless on (run) gpucluster:run:oom_killed > 0)" + IN_POOL,
            limits={},
            span="0s",
            severity="warning",
            domains=("user", "system", "hardware"),
            owner="run",
            summary="{{ $value }} pods of run {{ $labels.run }} ended with an error.",
            meaning="Mostly NCCL's watchdog: a collective did not end within its timeout, because one rank was late,"
            " gone or in another collective. The rank that complains is seldom the one at fault; the first to fall"
            " silent is.",
            causes=(
                "one rank crashed or waits: its log ends earlier than the others'",
                "ranks that run different collectives: a bug, or uneven data",
                "a node, GPU or link that failed: another alert names it then",
            ),
            actions=(
                _LOGS,
                Action(
                    say="Find the rank that fell silent first",
                    command="kubectl logs -n training -l gpucluster/run=RUN --all-containers --timestamps --tail=20",
                ),
                EVERY_NODE,
            ),
            over="All ranks run for 5 minutes, or the job is gone. If it fails again at the same step, it is the"
            " program or its data; at another step on the same node, it is the node.",
            link="https://pytorch.org/docs/stable/torch_nccl_environment_variables.html",
            guards=("V01", "V03"),
            symptom=True,
            more="What `run-watch` made of the failure - class, node, rank, next step - is kept for the"
            " last ten of each run: `kubectl get configmap -n training run-failures -o yaml`. Ask the"
            " hardware first: dcgmi asks the node's own engine (`dcgmi health --check` in the"
            " exporter's pod), not a port over HTTP, and no script of DCGM takes nodes away by"
            " itself.",
        ),
        Failure(
            id="run-hangs",
            alert="RunHangs",
            title="A training run hangs in a collective",
            signal="GPUs that are busy while their tensor cores stand still (dcgm-exporter)",
            expression="(gpucluster:run:gpu_utilisation_ratio > $busy and on (run) gpucluster:run:tensor_active_ratio"
            " < $active)" + IN_POOL,
            limits={
                "busy": Threshold(
                    value=0.95,
                    unit="of the time",
                    source="DCGM: utilisation counts any kernel, and NCCL's kernels spin while they wait (DC11)",
                ),
                "active": Threshold(
                    value=0.01,
                    unit="of the cycles",
                    source="DCGM profiling metrics: matrix work keeps the tensor pipe at tens of percent; a waiting"
                    " kernel has none",
                ),
            },
            span="5m",
            severity="critical",
            domains=("user", "system", "hardware"),
            owner="run",
            summary="Run {{ $labels.run }} hangs: its GPUs are busy and have computed nothing for 5 minutes.",
            meaning="Every GPU waits in a collective for one that does not come. After PyTorch's timeout (10"
            " minutes unless set otherwise) the run ends and begins again from its newest checkpoint;"
            " until then its processes can still be looked at.",
            causes=(
                "a throttled or sick GPU, or one that fell silent",
                "a link that is down or loses packets; RoCE without PFC on one port",
                "one rank waits for storage, or runs another collective than the others",
            ),
            actions=(
                Action(
                    say="See where each rank stands: by py-spy where the image has it, else by the last lines"
                    " of each rank",
                    command="kubectl exec -n training RUN-master-0 -- sh -c 'for each in $(pgrep -f train); do"
                    " py-spy dump --pid $each; done' || kubectl logs -n training -l gpucluster/run=RUN"
                    " --prefix --timestamps --tail=5",
                ),
                EVERY_NODE,
                Action(
                    say="Look at the fabric of its nodes",
                    query="gpucluster:fabric:links_missing > 0 or sum by (node) (gpucluster:fabric:drops_per_second) >"
                    " 0",
                ),
            ),
            over="The tensor cores work again, or the run began again. What each rank waited for when the"
            " timeout ended it lies in `/checkpoints/nccl-trace-rank-N`.",
            link="https://pytorch.org/docs/stable/torch_nccl_environment_variables.html",
            guards=("V03", "H15", "P20", "DC11"),
            symptom=True,
            more="On a rack: temperatures of its GPUs (`dcgmi dmon -e 150,155 -c 1` on the node itself: `--host` would"
            " go after the subcommand, and the engine listens on loopback only), then `ibdiagnet` for link errors,"
            " then PFC and ECN of the switch ports.",
        ),
        Failure(
            id="checkpoint-old",
            alert="CheckpointOld",
            title="The newest checkpoint of a run is old",
            signal="Time since the newest whole checkpoint (the run's own metrics) against the plan's interval",
            expression="gpucluster:run:checkpoint_age_seconds > on (run) group_left (pool) $intervals *"
            " gpucluster:run:expected_checkpoint_seconds",
            limits={
                "intervals": Threshold(
                    value=2,
                    unit="intervals of the plan",
                    source="the age is one interval just before each save; two say that one is missing",
                )
            },
            span="1m",
            severity="critical",
            domains=("user", "system"),
            owner="run",
            summary="The newest checkpoint of run {{ $labels.run }} is {{ $value | humanizeDuration }} old.",
            meaning="A failure now costs all work since that checkpoint, on every GPU of the run.",
            causes=(
                "writing a checkpoint fails, or takes longer than the interval between two",
                "the file system is full or slow",
                "the run hangs",
            ),
            actions=(
                Action(
                    say="See what the run says of its checkpoints",
                    command="kubectl logs -n training RUN-master-0 --tail=500 | grep -i checkpoint",
                ),
                Action(say="Is there room?", query="gpucluster:shared_files:used_ratio"),
                Action(
                    say="List the checkpoints; one without SHA256SUMS was not finished",
                    command="kubectl exec -n training RUN-master-0 -- ls -lt /checkpoints",
                ),
            ),
            over="A newer checkpoint is finished.",
            link="https://pytorch.org/docs/stable/distributed.checkpoint.html",
        ),
        Failure(
            id="gpu-memory-held",
            alert="GpuMemoryHeld",
            title="A GPU holds memory that belongs to no pod",
            signal="Memory in use on GPUs that no pod has (dcgm-exporter)",
            expression="gpucluster:gpu:idle_memory_bytes > $bytes",
            limits={
                "bytes": Threshold(
                    value=536_870_912,
                    unit="bytes",
                    source="Meta's gcm warns at 15 MiB; 512 MiB leave room for a CUDA context that a monitor or the"
                    " fabric manager holds",
                )
            },
            span="10m",
            severity="warning",
            domains=("user", "system"),
            owner="platform",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} holds {{ $value | humanize1024 }}B, and"
            " no pod has it.",
            meaning="A process outlived its container. Kubernetes counts the GPU as free, and the next run on"
            " it fails for lack of memory.",
            causes=(
                "a process that waits in the kernel, often for storage",
                "a process outside Kubernetes",
                "a driver bug",
            ),
            actions=(
                Action(
                    say="See which process it is",
                    command="kubectl debug node/NODE -it --image=busybox --profile=sysadmin -- chroot /host nvidia-smi"
                    " --query-compute-apps=pid,name,used_memory --format=csv",
                ),
                Action(say="Keep gangs off the node", command="kubectl cordon NODE"),
                Action(
                    say="End the process; if it cannot be ended, reboot the node (on machines with NVSwitch all GPUs"
                    " are reset together, with fabric manager stopped)",
                    command="kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
                ),
            ),
            over="The memory is free.",
            link="https://docs.nvidia.com/deploy/nvidia-smi/index.html",
            guards=("V07", "HW19", "HW20"),
        ),
    ),
)
