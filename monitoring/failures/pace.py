"""The pace of training runs: GPUs that wait for data, steps that take longer than they did."""

from monitoring.failure import Action, Failure, Subject
from monitoring.failures.run import EVERY_NODE, IN_POOL
from monitoring.thresholds import Threshold

PACE = Subject(
    name="pace",
    title="Pace of training runs",
    failures=(
        Failure(
            id="run-starved",
            alert="RunStarved",
            title="A training run waits for its data",
            signal="Mean utilisation of the run's GPUs (dcgm-exporter)",
            expression="(gpucluster:run:gpu_utilisation_ratio < $busy)" + IN_POOL,
            limits={
                "busy": Threshold(
                    value=0.5,
                    unit="of the time",
                    source="002:L203 gives 20 % for a starved GPU and 95 % for a fed one; the middle is nearer to"
                    " starved",
                )
            },
            span="10m",
            severity="warning",
            domains=("user", "system"),
            owner="run",
            summary="The GPUs of run {{ $labels.run }} are busy for only {{ $value | humanizePercentage }} of"
            " the time.",
            meaning="GPUs stand idle between steps. Either the loaders cannot make batches fast enough, or"
            " the storage cannot give the files, or writing checkpoints takes longer than it should.",
            causes=(
                "the shared file system is slow or busy: many small files, one stripe, another run's checkpoint",
                "too few loader processes, or too few processor cores for them",
                "a validation or a checkpoint that stops all ranks",
            ),
            actions=(
                Action(
                    say="See whether loaders or reads are the limit",
                    command="kubectl exec -n training RUN-master-0 -- top -b -n 1",
                ),
                Action(
                    say="See how much the node waits for I/O",
                    query='rate(node_pressure_io_waiting_seconds_total{node="NODE"}[5m])',
                ),
                Action(say="Compare what it reads with what the plan says it needs", command="make plan STACK=NAME"),
            ),
            over="The GPUs are busy for more than half of the time again.",
            link="https://pytorch.org/docs/stable/data.html#multi-process-data-loading",
            guards=("V10", "P20"),
            symptom=True,
        ),
        Failure(
            id="run-slow",
            alert="RunSlow",
            title="A training run has become slower",
            signal="Tokens a second (the run's own metrics) against its best of the last 6 hours",
            expression="(gpucluster:run:tokens_per_second < $pace * quantile_over_time($quantile,"
            " gpucluster:run:tokens_per_second[6h]) > 0 and on (run) gpucluster:run:gpu_utilisation_ratio >= $busy)"
            + IN_POOL,
            limits={
                "pace": Threshold(
                    value=0.9,
                    unit="of its pace",
                    source="requirement H14: throttling costs 10 to 30 %, so a tenth is where a fault begins to show",
                ),
                "quantile": Threshold(
                    value=0.9, unit="of its rates", source="leaves out peaks: a counter that catches up after a pause"
                ),
                "busy": Threshold(value=0.5, unit="of the time", source="the threshold of run-starved"),
            },
            span="10m",
            severity="warning",
            domains=("user", "system", "hardware"),
            owner="run",
            summary="Run {{ $labels.run }} trains {{ $value | humanize }} tokens a second, less than nine tenths of"
            " its own pace.",
            meaning="MFU fell while the GPUs are busy: one rank is slower than the others, or the fabric is. Tokens a"
            " second and MFU imply each other: 64 H100 at 52 % are 78,000 a second on a 70B model, not 380,000.",
            causes=(
                "a GPU that throttles or is braked",
                "another card, route or protocol since a restart: GPUDirect off, a cable, a switch",
                "longer sequences or another batch: then it is no fault",
            ),
            actions=(
                EVERY_NODE,
                Action(
                    say="Look for a link that carries less than its neighbours",
                    query="bottomk(5, sum by (node, device) (gpucluster:fabric:transmitted_bytes_per_second))",
                ),
                Action(
                    say="Compare with the plan's tokens per second",
                    query="gpucluster:run:tokens_per_second / on (run) gpucluster:run:expected_tokens_per_second",
                ),
            ),
            over="The run is back within a tenth of its pace. A lower pace that lasts counts as its own"
            " after 6 hours, and the alert ends then, too.",
            link="https://arxiv.org/abs/2204.02311",
            guards=("C10", "NC20", "P20", "X14"),
            symptom=True,
        ),
    ),
)
