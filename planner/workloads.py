"""Training runs: what their pods ask for, derived from the node they land on, and what services leave of pools."""

from collections.abc import Iterable, Mapping

from catalogue.image_types import find
from catalogue.model_types import Model
from catalogue.types import Gpu
from catalogue.units import MIB_PER_GIB, SECONDS_PER_HOUR
from catalogue.whole import Catalogue
from planner.forecast import RESTART_SECONDS, Aim, Forecast, GpuHour, forecast
from planner.interconnect import Switching, cluster_of
from planner.mlops import plan_follow_ups
from planner.nodes import pod_share, threads_together
from planner.placement import Sharing, sharing
from planner.pool_types import AwsPoolPlan, PoolPlan
from planner.reliability.checkpoints import Saving, TierPlan, plan_tiers, saving
from planner.step import step_time
from planner.storage.tiers import checkpoint_tiers
from planner.storage.types import StoragePlan
from planner.throughput import mfu, model_flops_per_token, peak_tflops, tokens_per_s
from planner.training.job import Job, Layout, covers, layout_on, software_of
from planner.training.plan import TrainingPlan, plan_launch, plan_training
from planner.workload_types import PodResources, RunPlan, ServicePlan, TritonPlan
from settings.workloads import TrainingRun

REFERENCE = ("/opt/gpucluster/trainer/train.py",)
"""Where the trainer that this program brings lies in a pod, whatever the image."""

_BILLION = 10**9


def plan_runs(
    runs: Iterable[TrainingRun],
    pools: Mapping[str, PoolPlan],
    catalogue: Catalogue,
    storage: StoragePlan | None,
    switching: Switching | None = None,
    price: GpuHour | None = None,
    failures_per_1000_node_days: float | None = None,
) -> dict[str, RunPlan]:
    """The runs whose pool is planned and has GPUs, by name. Their memory and speed follow where they name a model.

    `storage` is where they read from and save to, `price` what an hour of a GPU costs where the pools are not rented:
    those have their own. `failures_per_1000_node_days` is the site's own rate of failures.
    """
    return {
        run.name: _run(run, pools, catalogue, storage, switching, price, failures_per_1000_node_days)
        for run in runs
        if (pool := pools.get(run.pool)) is not None and pool.gpus_per_node
    }


def _job(run: TrainingRun) -> Job:
    """What the run says about how its model is trained."""
    said = {"method", "precision", "gradients", "sharding", "recompute", "compiled", "fused_attention"}
    said |= {"micro_batch", "accumulation"}
    software = software_of(run.software, run.sharding, _degrees(run))
    return Job(**run.model_dump(include=said), sequence=run.sequence_length, software=software)


_SAID = {
    *("name", "pool", "queue", "priority", "image", "restarts", "metrics_port", "commit", "launcher", "api"),
    *("topology", "within"),
}
"""What a plan takes of a run as it is said."""


def _run(
    run: TrainingRun,
    pools: Mapping[str, PoolPlan],
    catalogue: Catalogue,
    storage: StoragePlan | None,
    switching: Switching | None,
    price: GpuHour | None,
    failures: float | None,
) -> RunPlan:
    """One pod per node, with every GPU and EFA interface of it."""
    pool = pools[run.pool]
    efa = pool.efa if isinstance(pool, AwsPoolPlan) else 0
    offered = pool.allocatable_cpu_millicores, pool.allocatable_memory_mib
    cpu, memory = pod_share(*offered, 1, 1, threads=threads_together(exclusive=pool.exclusive_cpus))
    model, gpus = catalogue.models.get(run.model) if run.model is not None else None, run.nodes * pool.gpus_per_node
    saved = _saving(run, storage)
    training = _training(run, pool.gpu, gpus, model, failures) if model and pool.gpu else None
    expected = _forecast(run, saved, pool, model, training, storage, switching, price) if model and training else None
    return RunPlan(
        **run.model_dump(include=_SAID),
        script=REFERENCE + run.script if run.framework == "reference" else run.script,
        pods=run.nodes,
        gpus=gpus,
        efa=run.nodes * efa,
        pod=PodResources(
            gpus=pool.gpus_per_node,
            efa=efa,
            cpu_millicores=cpu,
            memory_mib=memory,
            shm_mib=run.shm_gib * MIB_PER_GIB,
        ),
        net_plugin=_net_plugin(run, catalogue) if efa and run.nodes > 1 else None,
        training=training,
        launch=plan_launch(run, model, training, expected, saved),
        forecast=expected,
        saving=saved,
        tiers=_tiers(run, training, storage) if training and storage else (),
        dataset=run.dataset.name if run.dataset else None,
        staging=run.dataset.staging if run.dataset else "none",
        deadline_s=round(run.deadline_hours * SECONDS_PER_HOUR) if run.deadline_hours else None,
        follow_ups=plan_follow_ups(run, pools),
    )


def _net_plugin(run: TrainingRun, catalogue: Catalogue) -> str:
    """As the image's row has it; else by the name that the EFA installer gives it since aws-ofi-nccl 1.15."""
    image = find(catalogue.images, run.image)
    return (image.net_plugin if image else None) or "ofi"


def _saving(run: TrainingRun, storage: StoragePlan | None) -> Saving | None:
    """As its storage is planned; as it is said where nobody knows what it saves, or where."""
    if run.checkpoint is None:
        return None
    stored = storage.runs.get(run.name) if storage else None
    if stored is not None and stored.io.saving is not None:
        return stored.io.saving
    return saving(run.checkpoint, run.framework)


def _tiers(run: TrainingRun, training: TrainingPlan, storage: StoragePlan) -> tuple[TierPlan, ...]:
    """The places for the run's checkpoints, where it saves any."""
    saved = storage.runs.get(run.name)
    if saved is None:
        return ()
    places = checkpoint_tiers(saved, storage.write_gb_per_s)
    return plan_tiers(places, training.mttf.hours, RESTART_SECONDS)


def _training(run: TrainingRun, gpu: Gpu, gpus: int, model: Model, failures: float | None) -> TrainingPlan:
    pause_s, data = run.checkpoint.within_seconds if run.checkpoint else None, run.parallelism.data
    return plan_training(_job(run), model, layout_on(gpus, _degrees(run), data), gpu, gpus, pause_s, failures)


def _degrees(run: TrainingRun) -> Layout:
    """The run's degrees, without those of data."""
    return Layout(**run.parallelism.model_dump(exclude={"data"}))


def _forecast(
    run: TrainingRun,
    saved: Saving | None,
    pool: PoolPlan,
    model: Model,
    training: TrainingPlan,
    storage: StoragePlan | None,
    switching: Switching | None,
    price: GpuHour | None,
) -> Forecast:
    """By the step's own estimate where the layout fits the GPUs there are and their network, else by a typical one."""
    cluster, layout = cluster_of(pool, switching), training.layout
    reached = run.nodes == 1 or (cluster is not None and cluster.network is not None)
    fits = covers(layout, run.nodes * pool.gpus_per_node) and layout.pipeline <= model.layers
    step = None
    if cluster and reached and fits:
        rate = storage.read_gb_per_s if storage and storage.read_gb_per_s else None
        step = step_time(model, training.job, layout, cluster, storage_gb_per_s=rate)
    flops = model_flops_per_token(model, run.sequence_length, full=run.method == "full")
    gpu = pool.gpu if cluster else None
    measured = _measured(run, flops, gpu, run.nodes * pool.gpus_per_node) if gpu else None
    aim = None
    if run.tokens_billion is not None:
        tokens = run.tokens_billion * _BILLION
        aim = Aim(tokens=tokens, tokens_per_step=training.tokens_per_step, flops_per_token=flops)
    return forecast(
        step,
        measured or (step.tokens_per_s if step else training.tokens_per_s),
        training.mttf.hours,
        gpus=run.nodes * pool.gpus_per_node,
        measured=measured is not None,
        aim=aim,
        saving=saved,
        price=_rented(pool) if isinstance(pool, AwsPoolPlan) else price,
    )


def _measured(run: TrainingRun, flops_per_token: float, gpu: Gpu, gpus: int) -> float | None:
    """Tokens a second as the site measured them, if its GPUs can compute so many; None where it says nothing."""
    if (told := run.expected) is None:
        return None
    peak = peak_tflops(gpu, run.precision)
    if told.tokens_per_second is None:
        return tokens_per_s(flops_per_token, gpus, peak, told.mfu or 0.0)
    return told.tokens_per_second if mfu(flops_per_token, gpus, peak, told.tokens_per_second) <= 1 else None


def _rented(pool: AwsPoolPlan) -> GpuHour | None:
    """The nodes of the run alone, without what stands around them."""
    price = pool.instance.price(pool.usage)
    if price is None:
        return None
    return GpuHour(usd=price.usd_per_hour / pool.gpus_per_node, basis=f"{pool.usage} price of {pool.hardware}")


def plan_sharing(
    pools: Mapping[str, PoolPlan],
    runs: Mapping[str, RunPlan],
    services: Mapping[str, ServicePlan],
    servers: Mapping[str, TritonPlan],
) -> dict[str, Sharing]:
    """What services leave of their pools, by the pool's name, where each replica fits on a node."""
    found = {}
    for name, pool in pools.items():
        there = [each for each in services.values() if each.pool == name]
        beside = [each.always for each in servers.values() if each.pool == name]
        sizes = [*(each.pod.gpus for each in there), *(each.gpus for each in beside)]
        if sizes and max(sizes) <= pool.devices_per_node:
            gang = max((run.pods for run in runs.values() if run.pool == name), default=0)
            fewest, most = [*(each.fewest for each in there), *beside], [*(each.most for each in there), *beside]
            found[name] = sharing(pool.count, pool.devices_per_node, fewest, most, gang)
    return found
