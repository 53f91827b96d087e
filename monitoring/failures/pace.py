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
            title="A training run is starved of data",
            signal="Mean utilisation of the run's GPUs (dcgm-exporter)",
            expression="(gpucluster:run:gpu_utilisation_ratio < $busy)" + IN_POOL,
            limits={
                "busy": Threshold(
                    0.5,
                    "of the time",
                    "002:L203 gives 20 % for a starved GPU and 95 % for a fed one; the middle is nearer to starved",
                )
            },
            span="10m",
            severity="warning",
            domains=("user", "system"),
            owner="run",
            summary="The GPUs of run {{ $labels.run }} have been busy only {{ $value | humanizePercentage }} of the"
            " time for 10 minutes.",
            meaning="GPUs idle between steps, so the run takes that much longer at the same price. Either the data"
            " loaders are too slow, or the storage is, or writing checkpoints takes longer than planned.",
            causes=(
                "the shared file system is slow or busy: many small files, unstriped files, another run's checkpoint",
                "too few loader workers, or too few CPU cores for them",
                "a validation or a checkpoint that stops all ranks",
            ),
            actions=(
                Action(
                    "See whether the loaders or the reads are the bottleneck",
                    "kubectl exec -n training RUN-master-0 -- top -b -n 1",
                ),
                Action(
                    "See how much the node waits for I/O",
                    query='rate(node_pressure_io_waiting_seconds_total{node="NODE"}[5m])',
                ),
                Action("Compare its read rate with what the plan says it needs", "make plan STACK=NAME"),
            ),
            over="The GPUs are busier than the limit again.",
            link="https://pytorch.org/docs/stable/data.html#multi-process-data-loading",
            guards=("V10", "P20"),
            symptom=True,
        ),
        Failure(
            id="run-slow",
            alert="RunSlow",
            title="A training run has slowed down",
            signal="Tokens a second (the run's own metrics) against its best of the last 6 hours",
            expression="(gpucluster:run:tokens_per_second < $pace * quantile_over_time($quantile,"
            " gpucluster:run:tokens_per_second[6h]) > 0 and on (run) gpucluster:run:gpu_utilisation_ratio >= $busy)"
            + IN_POOL,
            limits={
                "pace": Threshold(
                    0.9,
                    "of its pace",
                    "requirement H14: throttling costs 10 to 30 %, so a tenth is where a fault begins to show",
                ),
                "quantile": Threshold(0.9, "of its rates", "leaves out peaks: a counter that catches up after a pause"),
                "busy": Threshold(0.5, "of the time", "the threshold of run-starved"),
            },
            span="10m",
            severity="warning",
            domains=("user", "system", "hardware"),
            owner="run",
            summary="Run {{ $labels.run }} trains {{ $value | humanize }} tokens/s and has been well below its own"
            " pace for 10 minutes.",
            meaning="Throughput fell although the GPUs are busy: one rank holds the others up, or the fabric does."
            " The run takes longer and costs more by the same share. Tokens a second and MFU follow from each other:"
            " 64 H100 at 52 % are 78,000 a second on a 70B model, not 380,000.",
            causes=(
                "a GPU that throttles or is power-braked",
                "another NIC, route or protocol since a restart: GPUDirect off, a cable, a switch",
                "longer sequences or another batch size, which is not a fault",
            ),
            actions=(
                EVERY_NODE,
                Action(
                    "Look for a link that carries less traffic than the others",
                    query="bottomk(5, sum by (node, device) (gpucluster:fabric:transmitted_bytes_per_second))",
                ),
                Action(
                    "Compare with the plan's tokens per second",
                    query="gpucluster:run:tokens_per_second / on (run) gpucluster:run:expected_tokens_per_second",
                ),
            ),
            over="The run is back at its pace. A lower pace that lasts becomes its own after 6 hours, which ends the"
            " alert as well.",
            link="https://arxiv.org/abs/2204.02311",
            guards=("C10", "NC20", "P20", "X14"),
            symptom=True,
        ),
    ),
)
