"""From settings and rows to the numbers of the shared file system."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from catalogue.metal_types import StorageServer
from catalogue.model_types import Model
from catalogue.types import Nvme
from catalogue.units import BYTES_PER_GB, BYTES_PER_GIB, GB_PER_TB, GIB_PER_TIB
from planner.mlops import dataset_sizes
from planner.pool_types import AwsPoolPlan, MetalPoolPlan
from planner.reliability.checkpoints import saving
from planner.storage import fsx, tiers
from planner.storage.limits import Limits, client_gb_per_s, storage_link
from planner.storage.need import (
    RunIo,
    Staging,
    checkpoint_gb,
    object_copy_seconds,
    shared_copy_seconds,
    staging_seconds,
    target_gb_per_s,
)
from planner.storage.servers import CephServers, LustreServers, ceph_limits, lnet, lustre_limits
from planner.storage.types import RunStorage, StoragePlan, copies_or_parity, parse
from planner.training.job import Job
from planner.training.memory import lora_parameters
from settings.aws_storage import FsxLustre
from settings.metal_storage import Ceph, MetalLustre, MetalStorage
from settings.workloads import Training, TrainingRun

TB_PER_TIB = BYTES_PER_GIB * GIB_PER_TIB / BYTES_PER_GB / GB_PER_TB


def run_io(run: TrainingRun, models: Mapping[str, Model], datasets: Mapping[str, float]) -> RunIo:
    """What a run's settings ask of storage. Without a known model and a checkpoint section it saves nothing.

    LoRA and QLoRA save their adapters only. `datasets` are sizes in decimal GB by name.
    """
    asked = RunIo(
        name=run.name,
        nodes=run.nodes,
        dataset_gb=datasets[run.dataset.name] if run.dataset else 0.0,
        staging=Staging(run.dataset.staging) if run.dataset else Staging.NONE,
    )
    model, checkpoint = models.get(run.model or ""), run.checkpoint
    if model is None or checkpoint is None:
        return asked
    trained = model.parameters if run.method == "full" else lora_parameters(model, Job().lora_rank)
    return replace(
        asked,
        checkpoint_gb=checkpoint_gb(trained, run.precision),
        saving=saving(checkpoint, run.framework),
    )


def fsx_client_rates(lustre: FsxLustre, pools: Mapping[str, AwsPoolPlan]) -> dict[str, float]:
    """GB/s between a node and FSx for Lustre, by pool."""
    return {
        name: fsx.client_gb_per_s(pool.instance.network_gbit_per_s, lustre.efa and pool.efa > 0)
        for name, pool in pools.items()
    }


def client_rates(
    storage: MetalStorage, pools: Mapping[str, MetalPoolPlan], rows: Mapping[str, StorageServer]
) -> dict[str, float]:
    """GB/s between a node and the site's file system, by pool; nothing where the file system is not known."""
    servers = _servers(storage, rows)
    link = storage_link(servers.server.nics) if servers else None
    if link is None:
        return {}
    compute = storage.lustre is not None and storage.lustre.network == "compute"
    return {name: client_gb_per_s(pool.server.nics, link, compute=compute) for name, pool in pools.items()}


def plan_aws_storage(
    lustre: FsxLustre,
    training: Training,
    pools: Mapping[str, AwsPoolPlan],
    models: Mapping[str, Model],
) -> StoragePlan:
    """FSx for Lustre and the runs whose pools are planned."""
    datasets = dataset_sizes(training)
    rate = fsx.mb_per_s(lustre.capacity_gib, lustre.throughput_mbps_per_tib) / 1000
    capacity_tb = lustre.capacity_gib / GIB_PER_TIB * TB_PER_TIB
    # A copier is no matter of GPUs: it runs where ordinary pods do, and that may be the smallest node there is.
    copier = min(
        (tiers.copier_gb_per_s(pool.instance) for pool in pools.values() if pool.role == "system"), default=None
    )
    clients = fsx_client_rates(lustre, pools)
    used = {
        run.name: _run(
            run_io(run, models, datasets),
            rate,
            rate,
            clients[run.pool],
            pools[run.pool].instance.nvme,
            copier,
        )
        for run in training.runs
        if run.pool in pools
    }
    return StoragePlan(
        kind="fsx",
        read_gb_per_s=rate,
        write_gb_per_s=rate,
        raw_tb=capacity_tb,
        usable_tb=capacity_tb * fsx.FULL,
        needed_tb=_kept_tb(used.values(), datasets),
        clients=sum(pool.count for pool in pools.values() if pool.gpus_per_node),
        target_read_gb_per_s=None,
        target_write_gb_per_s=target_gb_per_s(each.io for each in used.values()),
        runs=used,
        object_gb_per_s=copier,
    )


def plan_metal_storage(
    storage: MetalStorage,
    training: Training,
    pools: Mapping[str, MetalPoolPlan],
    models: Mapping[str, Model],
    rows: Mapping[str, StorageServer],
    *,
    roce: bool = False,
) -> StoragePlan | None:
    """The site's Lustre or Ceph and the runs whose pools are planned; None if its servers' row is not known.

    `roce`: the compute fabric is Ethernet with RDMA.
    """
    servers = _servers(storage, rows)
    link = storage_link(servers.server.nics) if servers else None
    if servers is None or link is None:
        return None
    rates = client_rates(storage, pools, rows)
    compute = storage.lustre is not None and storage.lustre.network == "compute"
    clients = [pool for pool in pools.values() if pool.gpus_per_node]
    clients_gb_per_s = sum(pool.count * rates[pool.name] for pool in clients)
    read, write = (_limits(servers, clients_gb_per_s, writing=writing) for writing in (False, True))
    copier, datasets = storage.object_store_gb_per_s, dataset_sizes(training)
    used = {
        run.name: _run(
            run_io(run, models, datasets),
            read.gb_per_s,
            write.gb_per_s,
            rates[run.pool],
            pools[run.pool].server.nvme,
            copier,
        )
        for run in training.runs
        if run.pool in pools
    }
    is_lustre = isinstance(servers, LustreServers)
    return StoragePlan(
        kind="lustre" if is_lustre else "ceph",
        read_gb_per_s=read.gb_per_s,
        write_gb_per_s=write.gb_per_s,
        raw_tb=servers.raw_tb,
        usable_tb=servers.usable_tb,
        needed_tb=max(_kept_tb(used.values(), datasets), (storage.data_tib or 0.0) * TB_PER_TIB),
        clients=sum(pool.count for pool in clients),
        target_read_gb_per_s=storage.target_gb_per_s,
        target_write_gb_per_s=target_gb_per_s(each.io for each in used.values()),
        runs=used,
        object_gb_per_s=copier,
        read=read,
        write=write,
        lnet=lnet(link, roce=roce and compute) if is_lustre else None,
        osts=servers.osts if isinstance(servers, LustreServers) else None,
    )


def lustre_servers(lustre: MetalLustre, row: StorageServer) -> LustreServers:
    """The object servers that the settings describe."""
    return LustreServers(
        server=row,
        count=lustre.count,
        drives=row.drives if lustre.drives_per_server is None else lustre.drives_per_server,
        redundancy=parse(lustre.parity),
        cards=lustre.nics_per_server,
    )


def ceph_servers(ceph: Ceph, row: StorageServer) -> CephServers:
    """The OSD hosts that the settings describe."""
    return CephServers(server=row, count=ceph.count, redundancy=copies_or_parity(ceph.replicas, ceph.erasure))


def _run(
    io: RunIo,
    read_gb_per_s: float,
    write_gb_per_s: float,
    node_gb_per_s: float,
    nvme: Nvme | None,
    copier_gb_per_s: float | None,
) -> RunStorage:
    reached, disks = min(read_gb_per_s, io.nodes * node_gb_per_s), tiers.write_gb_per_s(nvme)
    staged = io.dataset_gb and io.staging is not Staging.NONE
    copy_s = shared_copy_seconds(io, storage=write_gb_per_s, node=node_gb_per_s, hashing=tiers.NODE_HASHING_GB_PER_S)
    return RunStorage(
        io=replace(io, saving=io.saving and replace(io.saving, copy_s=copy_s)),
        node_gb_per_s=node_gb_per_s,
        nvme=nvme,
        restore_s=io.checkpoint_gb / reached if io.checkpoint_gb and reached else None,
        staging_s=staging_seconds(io, storage=read_gb_per_s, node_network=node_gb_per_s, node_write=disks)
        if staged and reached and disks
        else None,
        object_copy_s=object_copy_seconds(io.checkpoint_gb, copier_gb_per_s)
        if io.checkpoint_gb and io.saving and io.saving.object_store_s and copier_gb_per_s
        else None,
    )


def _servers(storage: MetalStorage, rows: Mapping[str, StorageServer]) -> LustreServers | CephServers | None:
    if storage.lustre is not None and storage.lustre.server in rows:
        return lustre_servers(storage.lustre, rows[storage.lustre.server])
    if storage.ceph is not None and storage.ceph.server in rows:
        return ceph_servers(storage.ceph, rows[storage.ceph.server])
    return None


def _limits(servers: LustreServers | CephServers, clients_gb_per_s: float, *, writing: bool) -> Limits:
    if isinstance(servers, LustreServers):
        return lustre_limits(servers, clients_gb_per_s=clients_gb_per_s, writing=writing)
    return ceph_limits(servers, clients_gb_per_s=clients_gb_per_s, writing=writing)


def _kept_tb(runs: Iterable[RunStorage], datasets: Mapping[str, float]) -> float:
    """Datasets, each once however many runs read it, and the checkpoints that are kept."""
    return (sum(datasets.values()) + sum(run.io.kept_gb for run in runs)) / GB_PER_TB
