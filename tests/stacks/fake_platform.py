"""A platform that nobody sells: the one file that a further platform takes, with everything different from AWS.

It is its own proof: services and workloads that deploy through it can only know the contract.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from catalogue.versions import Chart
from components.layers import Fabric, HardwarePool, KubePlatform, Storage
from components.monitoring.counters import NodeCounters
from components.platform.copying import StoreAddress
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.network_rules import Reach
from components.platform.pods import PodNetwork
from components.platform.taints import Taint
from components.serving.entry import Entry
from components.storage.claims import ClaimSpec
from planner.plan import plan
from planner.types import Plan
from settings.load import from_sections
from stacks.deploy import deploy_on
from stacks.gpu_pools import gpu_pool
from stacks.outputs import export
from stacks.platform import (
    Connections,
    DeviceChart,
    DeviceObject,
    Devices,
    KubeCluster,
    Platform,
    Watching,
)
from stacks.platform_services import LogSink
from tests.graph.harness import Recorded, config_of, record
from tests.planner.stacks import sections

RAILS = PodNetwork(
    resources={"example.com/rdma": 8},
    annotations={"k8s.v1.cni.cncf.io/networks": "example-rails"},
    env={"NCCL_IB_HCA": "=card_0,card_1"},
    between={"NCCL_CROSS_NIC": "0"},
    capabilities=("IPC_LOCK", "SYS_RESOURCE"),
)
SHARED_CLASS, BLOCK_CLASS, LOCAL_CLASS = "example-files", "example-volumes", "example-scratch"
READY = "example-nodes-are-up"
REMOVER = "example-disks-are-removed"
OPERATOR_VALUES = {"driver": {"enabled": True, "rdma": {"enabled": True}}, "toolkit": {"enabled": True}}
TAINTS = (Taint(key="example.com/reserved", value="gpus", effect="NoExecute"),)
LOG_OUTPUTS = (
    "[OUTPUT]\n    Name http\n    Match *\n    Host logs.example.com\n    URI /insert/jsonline\n    Format json_lines\n"
)
COUNTERS = NodeCounters(name="rails", image="registry.example.com/rails:2.0.0", script="rails --print")
GATEWAY = {"domain": "models.example.com", "issuer": {"kind": "private-ca"}, "callers": ["10.7.0.0/16", "192.0.2.0/24"]}
ENTRY = Entry(load_balancer_class="example.com/balancer", annotations={"example.com/pool": "office"})


@dataclass(frozen=True)
class CaskClient:
    """A copier with another client, another grammar and credentials in its environment."""

    image: str = "registry.example.com/cask:4.2.0"
    env: Mapping[str, pulumi.Input[str]] = field(default_factory=lambda: {"CASK_URL": "https://cask.example.com"})

    def look(self, source: str) -> str:
        return f"cask exists {shlex.quote(source)}"

    def fetch(self, source: str, directory: str) -> list[str]:
        return ["cask", "pull", source, "--into", directory]

    def store(self, directory: str, target: str, *, but: str) -> str:
        return f"cask push {directory} {target} --but {but}"

    def store_file(self, file: str, target: str) -> str:
        return f"cask push {file} {target}"

    def stored(self, file: str, target: str) -> str:
        return f"cask same {file} {target}"

    def clear(self, target: str, *, but: str) -> str:
        return f"cask drop {target} --but {but}"


@dataclass(frozen=True)
class Casks:
    """An object store whose rights are objects of the cluster."""

    bucket: pulumi.Output[str]
    scheme: str = "cask"
    copier: CaskClient = field(default_factory=CaskClient)
    address: StoreAddress = field(
        default_factory=lambda: StoreAddress(endpoint="http://cask.example.com:8333", region="cellar")
    )

    def bucket_of(self, purpose: str) -> pulumi.Output[str]:  # noqa: ARG002 - a cellar has one
        return self.bucket

    def prepare(self, namespaces: Mapping[str, pulumi.Output[str]], opts: pulumi.ResourceOptions) -> None:
        """A client finds all it needs in its environment."""

    def reader(
        self, name: str, *, source: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        return _kept(name, opts, namespace, {"read": source}).id.apply(lambda _: account)

    def writer(
        self, name: str, *, prefix: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        return _kept(name, opts, namespace, {"write": prefix}).id.apply(lambda _: account)


@dataclass(frozen=True)
class Files:
    """Claims that a storage class fills by itself."""

    opts: pulumi.ResourceOptions

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        def claim(spec: ClaimSpec) -> pulumi.Output[str]:
            made = k8s.core.v1.PersistentVolumeClaim(
                f"{name}-{spec.namespace}-{spec.name}",
                k8s.core.v1.PersistentVolumeClaimInitArgs(
                    metadata=k8s.meta.v1.ObjectMetaArgs(name=spec.name, namespace=spec.namespace_ref),
                    spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(
                        access_modes=["ReadWriteMany"],
                        storage_class_name=SHARED_CLASS,
                        resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests={"storage": "10Ti"}),
                    ),
                ),
                self.opts,
            )
            return made.metadata.name.apply(str)

        return {(spec.namespace, spec.name): claim(spec) for spec in claims}


class Scratch:
    """Volumes of the nodes' disks, cut to size."""

    def volume(self, gb: int) -> Mapping[str, Any]:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": LOCAL_CLASS,
            "resources": {"requests": {"storage": f"{gb}G"}},
        }
        return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


class Ledger:
    """Logs go to VictoriaLogs of the site's own, which takes lines of JSON over HTTP."""

    def sink(
        self, name: str, *, namespace: pulumi.Input[str], account: str, days: int, opts: pulumi.ResourceOptions
    ) -> LogSink:
        kept = _kept(name, opts, namespace, {"keep": f"{days}d"})
        return LogSink(outputs=LOG_OUTPUTS, account=kept.id.apply(lambda _: account), read="example logs")


def deploy_fake(planned: Plan) -> Platform:
    """The platform: a cluster that is there already, and what of it the contract asks for."""
    provider = k8s.Provider("kubernetes", kubeconfig="{}")
    through = pulumi.ResourceOptions(providers=[provider])
    fabric, kube, hardware, storage = (
        layer(name, through)
        for layer, name in (
            (Fabric, "fabric"),
            (KubePlatform, "kube-platform"),
            (HardwarePool, "hardware"),
            (Storage, "storage"),
        )
    )
    in_cluster, in_storage = pulumi.ResourceOptions(parent=kube), pulumi.ResourceOptions(parent=storage)
    ready = _kept(READY, in_cluster)
    network = NamespacesArgs(namespaces=[NamespaceSpec(name="example-network", pod_security="privileged")])
    names = Namespaces("network-namespaces", network, pulumi.ResourceOptions(parent=fabric)).names
    shared, block, _ = (_storage_class(name, in_storage) for name in (SHARED_CLASS, BLOCK_CLASS, LOCAL_CLASS))
    cards = DeviceChart(
        name="example-cards",
        chart=Chart(name="example-cards", version="3.1.4", repository="https://charts.example.com"),
        namespace=names["example-network"],
        values={"rails": 8},
    )
    policy = DeviceObject(
        name="example-rails",
        api_version="example.com/v1",
        kind="FabricPolicy",
        spec={"resource": next(iter(RAILS.resources))},
    )
    return Platform(
        cluster=KubeCluster(
            name="example",
            kubeconfig=pulumi.Output.secret("{}"),
            kubeconfig_command="example login",
            endpoint=pulumi.Output.from_input("https://api.example.com:6443"),
            open_to=["198.51.100.0/24"],
            provider=provider,
            ready=ready,
        ),
        pools={
            name: replace(
                gpu_pool(
                    pool,
                    RAILS if name == "training" else PodNetwork(),
                    _kept(f"example-{name}-nodes", pulumi.ResourceOptions(parent=hardware)),
                ),
                taints=TAINTS,
            )
            for name, pool in planned.pools.items()
            if pool.role != "system"
        },
        devices=Devices(gpu_operator=OPERATOR_VALUES, charts=[cards], objects=[policy]),
        block=block,
        remover=_kept(REMOVER, in_storage),
        shared=Files(pulumi.ResourceOptions(parent=storage, depends_on=[ready])),
        local=Scratch(),
        objects=Casks(pulumi.Output.from_input("saves")),
        entry=ENTRY,
        watching=Watching(control_plane=["etcd", "scheduler"], logs=Ledger(), counters=COUNTERS),
        connections=Connections(
            api=Reach(cidrs=["192.0.2.10/32"], ports=[6443]),
            nodes=Reach(cidrs=["192.0.2.0/24"]),
            objects=Reach(cidrs=["192.0.2.77/32"], ports=[9000]),
            callers=Reach(cidrs=["198.51.100.0/24"]),
        ),
        layer=kube,
        providers=[provider],
        outputs={"fabric": {"kind": "example rails"}, "storage": {"files": shared}},
    )


def _kept(
    name: str,
    opts: pulumi.ResourceOptions,
    namespace: pulumi.Input[str] = "default",
    data: Mapping[str, str] | None = None,
) -> k8s.core.v1.ConfigMap:
    """An object that stands for what it is named after."""
    meta = k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace)
    return k8s.core.v1.ConfigMap(name, k8s.core.v1.ConfigMapInitArgs(metadata=meta, data=data), opts)


def _storage_class(name: str, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    made = k8s.storage.v1.StorageClass(
        name,
        k8s.storage.v1.StorageClassInitArgs(
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name), provisioner="disks.example.com"
        ),
        opts,
    )
    return made.metadata.name.apply(str)


def rates() -> dict[str, Any]:
    """An experiment with one parameter of each kind."""
    return {
        "name": "rates",
        "run": "small",
        "trialHours": 1.5,
        "objective": {"metric": "accuracy", "best": "highest", "until": 0.9},
        "parameters": [
            {"name": "learning-rate", "floatRange": {"min": 1e-5, "max": 1e-3, "scale": "log"}},
            {"name": "warmup-steps", "intRange": {"min": 10, "max": 100, "step": 10}},
            {"name": "dropout", "numbers": [0, 0.1]},
            {"name": "schedule", "words": ["cosine", "linear"]},
        ],
        "earlyStopping": {"afterTrials": 2, "afterReports": 6},
        "trials": {"parallel": 1, "most": 5, "failed": 2},
        "budgetGpuHours": 100,
    }


@cache
def fake_plan() -> Plan:
    """Racks as the planner knows them: a pool with the fabric, one without, and one whose GPUs are cut into slices."""
    told = {key: value for key, value in sections("metal").items() if key != "inventory"}
    gpus = {"server": "DGX H100"}
    told["pools"] += [
        {"name": "alone", "role": "training", "count": 1, **gpus},
        {"name": "inference", "role": "inference", "count": 2, "mig": "3g.40gb", **gpus},
    ]
    (large,) = told["training"]["runs"]
    large |= {"checkpoint": {"everyMinutes": 15, "withinSeconds": 60, "local": True, "fileSystemMinutes": 30}}
    small = {
        "name": "small",
        "pool": "alone",
        "nodes": 1,
        "model": "llama-3-8b",
        "method": "lora",
        "restarts": 7,
        "checkpoint": {"everyMinutes": 10, "withinSeconds": 60, "keep": 5, "objectStoreHours": 8},
    }
    told["training"]["datasets"].append({"name": "chats", "gb": 90, "source": "s3://models/chats"})
    kept = {key: large[key] for key in ("queue", "image", "script", "shmGib")}
    told["training"]["runs"] = [large, {**kept, **small, "dataset": {"name": "chats"}}]
    service = {
        "name": "llama",
        "pool": "inference",
        "model": "llama-3-8b",
        "weights": "s3://models/llama",
        "image": "vllm/vllm-openai:v0.29.0",
        "minReplicas": 2,
        "maxReplicas": 3,
        "waitingPerReplica": 9,
        "kvCacheDtype": "fp8",
        "public": True,
        "requestsPerMinute": 90,
    }
    told["serving"] = {"services": [service], "gateway": GATEWAY}
    mail = {
        "to": "ops@example.com",
        "sender": "cluster@example.com",
        "server": "mail.example.com:587",
        "username": "cluster",
    }
    told["monitoring"] = {
        "retentionDays": 9,
        "diskGib": 77,
        "scrapeSeconds": 20,
        "logs": {"retentionDays": 5},
        "receivers": [{"name": "ops", "kind": "email", "secret": "mailPassword", "atLeast": "info", "mail": mail}],
    }
    told["facility"]["racks"]["count"] = 5
    told["storage"]["objectStoreGbPerS"] = 1.0
    told["scheduling"] = {
        "queues": [
            {"name": "training", "weight": 3, "gpus": 64, "reclaimable": False},
            {"name": "experiments", "weight": 1},
        ]
    }
    told["training"]["experiments"] = [rates()]
    found = plan(from_sections(told))
    # The stack file knows S3 addresses only; the plan is where a platform's own begin.
    own = {name: replace(each, weights="cask://models/llama") for name, each in found.services.items()}
    data = {name: replace(each, source=each.source and "cask://models/chats") for name, each in found.datasets.items()}
    return replace(found, services=own, datasets=data)


@cache
def fake_graph(preview: bool = False) -> Recorded:
    """What the fake platform, and everything on it, registers."""

    def program() -> None:
        planned = fake_plan()
        export(deploy_on(deploy_fake(planned), planned, pulumi.Config("gpucluster")))

    tokens = {
        "gpucluster:hfToken": "hf-secret-for-tests",
        "gpucluster:apiToken": "api-secret-for-tests",
        "gpucluster:mailPassword": "mail-secret-for-tests",
        "gpucluster:trialDatabase": "database-secret-for-tests",
    }
    return record(program, stack="fake", config=config_of(tokens), secrets=tuple(tokens), preview=preview)
