"""Training runs."""

from tests.monitoring.cases.case import Case
from tests.monitoring.healthy import Series, dcgm, in_cluster, on_node, series, still, turns

_A0 = {"node": "gpu-a", "gpu": "0", "pool": "train"}
_RUN = {"run": "pretrain", "pool": "train"}
_RANK = {"namespace": "training", "pod": "pretrain-master-0", "container": "pytorch"}
_TRAIN = (("gpu-a", 0), ("gpu-a", 1), ("gpu-b", 0), ("gpu-b", 1))


def _on_gpus(metric: str, values: str) -> Series:
    return {dcgm(metric, node, gpu): values for node, gpu in _TRAIN}


def _exited(reason: str, minute: int) -> Series:
    """A container that ended at that minute and began again."""
    return {
        in_cluster("kube_pod_container_status_last_terminated_reason", **_RANK, reason=reason): turns(0, 1, minute),
        in_cluster("kube_pod_container_status_last_terminated_timestamp", **_RANK): still(60 * minute),
    }


WORK: dict[str, Case] = {
    "out-of-memory": Case(
        firing=_exited("OOMKilled", 18) | {on_node("node_vmstat_oom_kill", "gpu-a"): turns(0, 1, 18)},
        silent=_exited("OOMKilled", 12),
        labels=(_RANK,),
        summary="Container pytorch of pod training/pretrain-master-0 was OOM-killed: it exceeded its memory limit.",
    ),
    "run-failed": Case(
        firing=_exited("Error", 18),
        silent=_exited("Error", 12),
        labels=(_RUN,),
        summary="Pods of run pretrain that ended with an error: 1.",
    ),
    "run-hangs": Case(
        firing=_on_gpus("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", turns(0.42, 0))
        | _on_gpus("DCGM_FI_DEV_GPU_UTIL", turns(96, 100)),
        silent=_on_gpus("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", turns(0.42, 0.1))
        | _on_gpus("DCGM_FI_DEV_GPU_UTIL", turns(96, 100)),
        labels=(_RUN,),
        summary="Run pretrain hangs: its GPUs are busy but have computed nothing for 5 minutes.",
    ),
    "run-starved": Case(
        firing=_on_gpus("DCGM_FI_DEV_GPU_UTIL", turns(96, 20)),
        silent=_on_gpus("DCGM_FI_DEV_GPU_UTIL", turns(96, 51)),
        labels=(_RUN,),
        summary="The GPUs of run pretrain have been busy only 20% of the time for 10 minutes.",
    ),
    "run-slow": Case(
        firing={
            series(
                "training_tokens_total",
                run="pretrain",
                namespace="training",
                pod="pretrain-master-0",
                job="training-runs",
            ): "0+600000x79 47880000+480000x80"
        },
        silent={
            series(
                "training_tokens_total",
                run="pretrain",
                namespace="training",
                pod="pretrain-master-0",
                job="training-runs",
            ): "0+600000x79 47940000+550000x80"
        },
        labels=(_RUN,),
        summary="Run pretrain trains 16k tokens/s and has been well below its own pace for 10 minutes.",
        minute=60,
    ),
    "checkpoint-old": Case(
        firing={
            series(
                "training_checkpoint_timestamp_seconds",
                run="pretrain",
                namespace="training",
                pod="pretrain-master-0",
                job="training-runs",
            ): still(0)
        },
        silent={
            series(
                "training_checkpoint_timestamp_seconds",
                run="pretrain",
                namespace="training",
                pod="pretrain-master-0",
                job="training-runs",
            ): still(900)
        },
        labels=(_RUN,),
        summary="The newest checkpoint of run pretrain is 40m 0s old.",
        minute=40,
    ),
    "gpu-memory-held": Case(
        firing={
            dcgm("DCGM_FI_DEV_FB_USED", "gpu-a", 0, exported_pod="", exported_namespace=""): still(900),
        },
        silent={
            dcgm("DCGM_FI_DEV_FB_USED", "gpu-a", 0, exported_pod="", exported_namespace=""): still(500),
        },
        labels=(_A0,),
        summary="GPU 0 of node gpu-a has held 900MiB for 10 minutes, although no pod uses it.",
    ),
}
