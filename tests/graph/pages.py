"""Pages of what a stack hands out: its outputs, and its pods' environment. `python -m tests.graph.pages` writes them.

The names come from what the shipped stacks register, the words beside them stand here.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tests.graph.stackfiles import ROOT, graph_of, stack_names

REFERENCE = ROOT / "docs" / "reference"

OUTPUTS: Mapping[str, str] = {
    "fabric.vpc": "id of the VPC",
    "fabric.gpuZone": "zone id in which all GPU nodes stand",
    "fabric.kind": "efa or ethernet: what GPU nodes exchange by",
    "fabric.efaInterfaces": "EFA interfaces of all nodes",
    "fabric.subnets": "CIDR of each subnet by name",
    "hardware.pools": "by pool: instance type, nodes, GPUs, EFA interfaces and pods of a node",
    "hardware.nodes": "nodes of all pools",
    "hardware.gpus": "GPUs of all pools",
    "hardware.priceUsd": "USD an hour and a month, by what; the range where prices vary",
    "hardware.quotas": "by quota of AWS: what the stack needs of it, in the quota's unit",
    "hardware.endsParameter": "name of the SSM parameter that holds the stack's end; only where a keeper ends it",
    "hardware.keeperTopic": "ARN of the SNS topic that warns of the end; only where a keeper ends the stack",
    "hardware.spendingTopic": "ARN of the SNS topic that tells of cost; only with budget.alerts",
    "storage.fileSystem": "id of the shared file system",
    "storage.bucket": "name of the stack's own bucket, for checkpoints",
    "storage.block": "storage class of single disks",
    "storage.claims": "namespace/name of each claim on the file system",
    "storage.usableTb": "TB that the file system holds",
    "storage.readGbPerS": "GB/s that it is read with",
    "storage.writeGbPerS": "GB/s that it is written with",
    "storage.checkpointGbPerS": "GB/s that checkpoints ask for",
    "kubePlatform.cluster": "name of the EKS cluster",
    "kubePlatform.endpoint": "address of the Kubernetes API",
    "kubePlatform.openTo": "networks that may reach it",
    "kubePlatform.kubernetesVersion": "minor version",
    "kubePlatform.kubeconfigCommand": "what a person types to use kubectl",
    "scheduling.queues": "names of the queues",
    "scheduling.priorities": "names of the priority classes",
    "monitoring.series": "time series that Prometheus will hold",
    "monitoring.samplesPerS": "samples that it takes a second",
    "monitoring.memoryMib": "MiB of memory that it is given",
    "monitoring.diskGib": "GiB of disk that it is given",
    "monitoring.retentionDays": "days for which it keeps them",
    "monitoring.prometheus": "command that opens Prometheus",
    "monitoring.alertmanager": "command that opens Alertmanager",
    "monitoring.grafana": "command that opens Grafana",
    "monitoring.grafanaPassword": "command that shows its password",
    "monitoring.dashboards": "where the first dashboard then is",
    "monitoring.logs": "command that follows the pods' logs",
    "workloads.gangs": "by run: its job, pods, GPUs, memory and tokens a second as planned",
    "workloads.services": "by service: `url` inside the cluster, replicas, GPUs, room for tokens",
}

ENVIRONMENT: Mapping[str, str] = {
    "pytorch CHECKPOINT_DIR": "directory for checkpoints, on the shared file system; outlives the pods",
    "pytorch CHECKPOINT_EVERY_SECONDS": "seconds between two saves",
    "pytorch CHECKPOINT_KEEP": "whole saves that are kept",
    "pytorch CHECKPOINT_URI": "where the newest checkpoint is copied in the object store",
    "pytorch CHECKPOINT_WITHIN_SECONDS": "seconds that a save may take, when the run is told to stop too",
    "pytorch DATASET_DIR": "the dataset's files, read-only; only where the run names a dataset",
    "pytorch METRICS_PORT": "port on which rank 0 tells Prometheus of the run; only with metricsPort",
    "pytorch FI_PROVIDER": "libfabric's provider: EFA",
    "pytorch NCCL_DEBUG": "NCCL says at its start what it found",
    "pytorch NCCL_DEBUG_SUBSYS": "of which of its parts",
    "pytorch NCCL_NET": "the network that NCCL must use: it ends rather than fall back to TCP",
    "pytorch NCCL_NET_PLUGIN": "name of the plugin by which it does",
    "pytorch TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "seconds that torchrun leaves to processes that are told to stop",
    "pytorch TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "where each rank leaves what it waited for when a collective timed out",
    "pytorch TORCH_NCCL_DUMP_ON_TIMEOUT": "that it does",
    "pytorch TORCH_NCCL_TRACE_BUFFER_SIZE": "collectives that it remembers",
    "vllm HF_HUB_OFFLINE": "always `1`: models are local",
    "vllm VLLM_CACHE_ROOT": "directory of compiled graphs, on the shared file system",
}
"""By container and name."""

_OUTPUTS = """# Outputs of a stack

Written by `make reference` from what the shipped stacks export. `pulumi stack output workloads` prints one layer,
`--json` for programs. Numbers are the planner's, so that a preview shows how a change moves them.

| output | key | what it is |
|---|---|---|
"""
_ENVIRONMENT = """# Environment of a pod

Written by `make reference` from what the shipped stacks register. What a run's script (container `pytorch`) and a
model server (container `vllm`) find set. The training operator adds `PET_NNODES`, `PET_NPROC_PER_NODE`, `MASTER_ADDR`,
`MASTER_PORT`, `WORLD_SIZE` and `RANK`, torchrun `LOCAL_RANK` and the like. A framework other than `script` finds its
plan at `RUN_PLAN`, too ([train a model](../how-to/train.md)). `nccl:` of a run adds variables of your own.

| container | variable | what it is | in dev or prod |
|---|---|---|---|
"""
_RECORDED = "123456789012"


def outputs() -> dict[str, Any]:
    """Each output's keys, over all shipped stacks that deploy."""
    found: dict[str, Any] = {}
    for stack in stack_names():
        for layer, values in graph_of(stack).outputs.items():
            found |= {f"{layer}.{key}": values[key] for key in values}
    return found


def environment() -> dict[str, str]:
    """A value of each variable of runs and servers, by container and name; empty for a secret."""
    found: dict[str, str] = {}
    for stack in stack_names():
        for resource in graph_of(stack).resources.values():
            for template in _templates(resource.kind, resource.inputs.get("spec")):
                for container in template["spec"]["containers"]:
                    if container["name"] in ("pytorch", "vllm"):
                        for each in container.get("env") or ():
                            found.setdefault(f"{container['name']} {each['name']}", str(each.get("value", "")))
    return found


def _templates(kind: str, spec: Any) -> Iterator[Mapping[str, Any]]:
    if kind == "PyTorchJob":
        yield from (each["template"] for each in spec["pytorchReplicaSpecs"].values())
    elif kind == "Deployment":
        yield spec["template"]


def contents() -> dict[str, str]:
    """The pages by file name."""
    rows = (f"| `{layer}` | `{key}` | {text} |\n" for (layer, _, key), text in _split(OUTPUTS, "."))
    values = environment()
    lines = (
        f"| `{container}` | `{name}` | {text} | {_value(values.get(f'{container} {name}', ''))} |\n"
        for (container, _, name), text in _split(ENVIRONMENT, " ")
    )
    return {"outputs.md": _OUTPUTS + "".join(rows), "pod-environment.md": _ENVIRONMENT + "".join(lines)}


def _split(table: Mapping[str, str], by: str) -> Iterator[tuple[tuple[str, str, str], str]]:
    return ((key.partition(by), text) for key, text in table.items())


def _value(text: str) -> str:
    return f"`{text.replace(_RECORDED, 'ACCOUNT')}`" if text else ""


def main() -> int:
    """Write the pages."""
    for name, content in contents().items():
        (REFERENCE / name).write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
