"""Training runs: what their own metrics say, what their GPUs do, and what the plan expects of them."""

from collections.abc import Iterator, Mapping

from monitoring.limits import Limits
from monitoring.rule import Group, Recording

_MINUTES_5 = 300
_TRAINING = 'namespace="training"'
_OF_ITS_RUN = "* on (namespace, pod) group_left (run) gpucluster:pod:run"


def ended(reason: str, *matchers: str) -> str:
    """Containers that ended for `reason` and stay so, or were started again in the last 5 minutes."""
    chosen = ",".join((*matchers, f'reason="{reason}"'))
    key = "namespace, pod, container"
    return (
        f"max by ({key}) (kube_pod_container_status_terminated_reason{{{chosen}}} == 1)"
        f" or max by ({key}) ((kube_pod_container_status_last_terminated_reason{{{chosen}}} == 1)"
        f" and on ({key}) (time() - kube_pod_container_status_last_terminated_timestamp < {_MINUTES_5}))"
    )


def _mean(of: str) -> str:
    return (
        f"avg by (run) (max by (node, gpu) (gpucluster:gpu:{of}) * on (node, gpu) group_right ()"
        " max by (node, gpu, run) (gpucluster:gpu:run))"
    )


def _recorded(what: str, expression: str, *more: str) -> Recording:
    return Recording(f"gpucluster:run:{what}", expression, ("run", *more))


def _constant(what: str, value: float, labels: Mapping[str, str]) -> Recording:
    """A number of the plan, as a series to compare and to draw a line with."""
    return Recording(f"gpucluster:run:{what}", f"vector({value:g})", (), constant=dict(labels))


RUN = Group(
    name="run",
    rules=(
        Recording(
            "gpucluster:pod:run",
            'max by (namespace, pod, run) (label_replace(kube_pod_labels{label_gpucluster_run!=""}, "run",'
            ' "$1", "label_gpucluster_run", "(.+)"))',
            ("namespace", "pod", "run"),
        ),
        Recording("gpucluster:pod:oom_killed", ended("OOMKilled"), ("namespace", "pod", "container")),
        _recorded("oom_killed", f"count by (run) (gpucluster:pod:oom_killed {_OF_ITS_RUN})"),
        _recorded("failed_pods", f"count by (run) (({ended('Error', _TRAINING)}) {_OF_ITS_RUN})"),
        _recorded("nodes", "count by (run) (count by (run, node) (gpucluster:gpu:run))"),
        _recorded("gpu_utilisation_ratio", _mean("utilisation_ratio")),
        _recorded("tensor_active_ratio", _mean("tensor_active_ratio")),
        _recorded(
            "fabric_bytes_per_second",
            "sum by (run) (sum by (node) (gpucluster:fabric:transmitted_bytes_per_second) * on (node) group_right ()"
            " max by (node, run) (gpucluster:gpu:run))",
        ),
        _recorded("tokens_per_second", "sum by (run) (rate(training_tokens_total[5m]))"),
        _recorded("step_seconds", "max by (run) (training_step_seconds)"),
        _recorded(
            "mfu_ratio",
            "gpucluster:run:tokens_per_second / on (run) gpucluster:run:expected_tokens_per_second * on (run)"
            " group_right () gpucluster:run:expected_mfu_ratio",
            "pool",
        ),
        _recorded("checkpoint_age_seconds", "time() - max by (run) (training_checkpoint_timestamp_seconds)"),
    ),
)


def expected(limits: Limits) -> Iterator[Recording]:
    """What the plan says of each run; nothing of what it does not know."""
    for run in limits.runs:
        labels = {"run": run.name, "pool": run.pool}
        yield _constant("expected_nodes", run.nodes, labels)
        if run.tokens_per_s is not None:
            yield _constant("expected_tokens_per_second", run.tokens_per_s, labels)
        if run.mfu is not None:
            yield _constant("expected_mfu_ratio", run.mfu, labels)
        if run.checkpoint_s is not None:
            yield _constant("expected_checkpoint_seconds", run.checkpoint_s, labels)
    for pool in limits.pools:
        yield Recording(
            "gpucluster:pool:expected_gpus_per_node", f"vector({pool.gpus_per_node})", (), constant={"pool": pool.name}
        )
    for machine in limits.machines:
        expected_of = {"expected_power_supplies": machine.power_supplies, "inlet_limit_celsius": machine.inlet_c}
        for what, value in expected_of.items():
            if value is not None:
                yield Recording(f"gpucluster:pool:{what}", f"vector({value})", (), constant={"pool": machine.pool})
    for block in limits.blocks:
        yield Recording(
            "gpucluster:pool:block_leaves_seconds",
            f"vector({int(block.leaves.timestamp())})",
            (),
            constant={"pool": block.pool, "reservation": block.reservation},
        )
    for service in limits.services:
        yield Recording(
            "gpucluster:serving:replicas_most",
            f"vector({service.most})",
            (),
            constant={"namespace": "inference", "service": service.name},
        )
        if service.to_zero:
            yield Recording(
                "gpucluster:serving:goes_to_zero",
                "vector(1)",
                (),
                constant={"namespace": "inference", "service": service.name},
            )
