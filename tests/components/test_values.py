"""What each chart, and what runs on owned machines, is told for numbers that no default has, whole.

values.yaml has it as a user of the chart or program would. There is no command that rewrites it: whoever changes a
value says in both places that it is meant.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.aws.devices import GPU_OPERATOR_VALUES, efa_plugin_values
from components.aws.karpenter import karpenter_values
from components.aws.node_scripts import MirrorLogin, login_script, lustre_script
from components.gateway.cert_manager import cert_manager_values
from components.gateway.definitions import definitions
from components.gateway.traefik import TraefikArgs, traefik_values
from components.metal import devices as metal
from components.metal import kube_vip, kubeadm, kubelet, object_store, pod_ports, secrets
from components.metal.cilium import cilium_values
from components.metal.local_volumes import provisioner_values
from components.metal.rook import driver_values, operator_values
from components.monitoring.adapter import adapter_values
from components.monitoring.logs import fluent_bit_values
from components.monitoring.stack_values import Request
from components.platform.charts import laid
from components.platform.external_secrets import external_secrets_values
from components.platform.gpu_operator import gpu_operator_values
from components.platform.image_signatures import kyverno_values
from components.platform.metrics_server import metrics_server_values
from components.platform.network_rules import internet
from components.platform.pods import PodShape
from components.platform.taints import Taint, label_value, pool_labels, pool_taints, tolerations_of_all_pools
from components.platform.volcano import volcano_values
from components.serving.arguments import compiled_path
from components.serving.autoscaler import supporting
from components.serving.door import beside
from components.serving.entry import Entry
from components.serving.keda import keda_values
from components.serving.keys import templates
from components.serving.smoke import questions
from components.training import copier
from planner.reliability.checkpoints import Saving
from tests.components.samples.kubeflow import pipelines_store
from tests.components.test_registered import opened

WRITTEN = yaml.safe_load(Path(__file__).with_name("values.yaml").read_text(encoding="utf-8"))

TAINTS = [{"key": "one", "effect": "NoSchedule"}, {"key": "two", "effect": "NoExecute"}]
TRAEFIK = TraefikArgs(
    entry=Entry(annotations={"reach": "world"}, load_balancer_class="some.io/class"),
    callers=("10.1.0.0/16", "10.2.0.0/16"),
    replicas=3,
    cpu_millicores=130,
    memory_mib=260,
    leave_seconds=17,
    drain_seconds=190,
)
OPERAND = {"repository": "nvcr.io/mellanox", "version": "network-operator-v26"}


def policy() -> dict[str, Any]:
    """What the Network Operator makes of shared cards and of drivers in containers."""
    return metal.nic_cluster_policy(
        metal.shared_cards(["1023", "1021"], OPERAND),
        tolerations=TAINTS,
        driver="container",
        doca="doca-3",
        repository="nvcr.io/mellanox",
    )


CLUSTER = kubeadm.ClusterSpec(
    name="hall",
    version="1.36.9",
    endpoint="10.0.0.250",
    pod_cidr="10.244.0.0/16",
    service_cidr="10.96.0.0/12",
    control_plane=["10.0.0.1", "10.0.0.2"],
    images="mirror.example.com/k8s",
)
NODE = kubeadm.NodeSpec(
    name="gpu-7",
    address="10.0.0.7",
    labels={"pool": "one", "hall": "two"},
    taints=[Taint(key="gpu", value="yes", effect="NoSchedule")],
)
KUBELET = kubelet.KubeletSpec(
    max_pods=111, reserved_cpu_millicores=222, reserved_memory_mib=333, eviction_mib=444, grace_s=555, gpus=True
)


KEY = "0123456789abcdef" * 4
"""Of a cluster: secrets that another version derives otherwise open nothing that is there."""

PORTS = [["0000:1b:00.0", "0000:1a:00.0"], ["0000:2a:00.0"]]


def vip() -> str:
    """The pod that holds the address of the API."""
    return kube_vip.manifest("vip:1", address="10.0.0.250", interface="bond0", first=True)


def store() -> Mapping[str, Any]:
    """What a client of an object store is told."""
    return object_store.client("unused", "https://s3.example.com").env


LOGIN = MirrorLogin(
    registry="hub.site.example:5000",
    secret_arn="arn:aws:secretsmanager:us-east-2:123456789012:secret:mirror-AbCdEf",
    region="us-east-2",
)
LOGIN_SCRIPT = (Path(__file__).parents[2] / "node" / "registry" / "login.sh").read_text(encoding="utf-8")
OWN_SCRIPT, COUNTERS_SCRIPT = (
    (Path(__file__).parents[2] / "node" / "lustre" / name).read_text(encoding="utf-8")
    for name in ("efa.sh", "counters.sh")
)


def read(text: str) -> list[Any]:
    """A file of YAML documents as what they hold."""
    return list(yaml.safe_load_all(text))


VALUES: dict[str, Callable[[], Any]] = {
    "cert-manager": lambda: cert_manager_values("certificates", records=True),
    "cilium": lambda: cilium_values(endpoint="10.0.0.9", pod_cidr="10.244.0.0/16", interface="bond0"),
    "cilium-beside-multus": lambda: cilium_values(
        endpoint="10.0.0.9", pod_cidr="10.244.0.0/16", interface=None, operators=1, alone=False, names=True
    ),
    "ceph-csi-drivers": lambda: driver_values(TAINTS),
    "charts-values-over-others": lambda: laid(
        {"a": {"one": 1, "two": 2}, "b": {"c": 1}}, {"a": {"two": 3, "three": 4}, "b": 5, "d": {"e": 6}}
    ),
    "compiled-graphs": lambda: compiled_path("vllm:1", "llama", "NVIDIA-L40S", 2),
    "door-takes-all": lambda: asdict(beside(PodShape(gpus=1, cpu_millicores=50, memory_mib=999, shm_mib=1))),
    "efa-device-plugin": lambda: efa_plugin_values(TAINTS),
    "external-secrets": lambda: external_secrets_values("reader", cpu_millicores=17, memory_mib=170),
    "fluent-bit": lambda: fluent_bit_values(
        "writer", "[OUTPUT]", Request(cpu_millicores=70, memory_mib=90), every_s=45, audit="/audit/*.log"
    ),
    "gateway-definitions": lambda: definitions("v1.4.1", {"gateways": "ab12", "httproutes": "cd34"}, "kubectl:1"),
    "sealer": lambda: copier.container(
        "python:3",
        {"cpu": "1"},
        Saving(every_s=900, within_s=9, keep=3, local=False, file_system_s=900, sidecar="shared"),
        "sft",
        4,
        "sft-copier",
        first=False,
    ),
    "gpu-operator": lambda: gpu_operator_values(
        TAINTS, GPU_OPERATOR_VALUES, counters="counted", scrape_s=45, slices=True, turns={"four": 4, "two": 2}
    ),
    "gpu-operator-on-hosts": lambda: metal.gpu_operator_values("host", infiniband=True),
    "gpu-operator-with-storage": lambda: metal.gpu_operator_values("container", infiniband=False, gds=True),
    "gpu-operator-with-drivers": lambda: metal.gpu_operator_values("container", infiniband=True),
    "infiniband": lambda: asdict(metal.rdma_network({"NCCL_IB_HCA": "=card"})),
    "internet": lambda: asdict(internet((443, 8443))),
    "internet-by-itself": lambda: list(internet().ports),
    "kube-vip": lambda: read(vip()),
    "kubeadm-audit": lambda: read(kubeadm.audit()),
    "kubeadm-documents": lambda: kubeadm.documents({"kind": "Second", "apiVersion": "v1"}, {"kind": "Other"}),
    "kubeadm-encryption": lambda: read(kubeadm.encryption("hush")),
    "kubeadm-init": lambda: read(kubeadm.init(CLUSTER, NODE, token="a.b", certificate_key="c")),
    "kubeadm-join-that-pulls-nothing": lambda: read(kubeadm.join(replace(NODE, pulls=False), token="a.b")),
    "kubeadm-join": lambda: read(kubeadm.join(NODE, token="a.b", certificate_key="c")),
    "kubelet": lambda: read(kubelet.patch(KUBELET)),
    "karpenter": lambda: karpenter_values("maker", "events", "prod-1", cpu_millicores=350, memory_mib=700),
    "kyverno": lambda: kyverno_values("reader", ["one", "two"], replicas=3, cpu_millicores=170, memory_mib=390),
    "keda": lambda: keda_values("models", cpu_millicores=70, memory_mib=190),
    "label-of-any-words": lambda: label_value(f"-S/N {'x' * 60}"),
    "local-volumes": lambda: provisioner_values("/mnt/fast", {"pool": "fast"}),
    "lustre-over-efa": lambda: (
        lustre_script(8).replace(OWN_SCRIPT, "[its script]\n").replace(COUNTERS_SCRIPT, "[what tells]\n")
    ),
    "login-at-the-mirror": lambda: login_script(LOGIN).replace(LOGIN_SCRIPT, "[its script]\n"),
    "metrics-server": lambda: metrics_server_values(140),
    "metrics-server-of-few-nodes": lambda: metrics_server_values(3)["resources"],
    "network-operator": lambda: metal.network_operator_values(TAINTS),
    "network-operator-policy": policy,
    "object-store": lambda: {name: getattr(each, "secret_key_ref", each) for name, each in store().items()},
    "object-store-of-pipelines": lambda: pipelines_store(store()).key(),
    "ports-addresses": lambda: pod_ports.address_pool("10.9.0.0/24", 5),
    "ports-as-functions": lambda: [pod_ports.function_policy(1, 6, infiniband=each) for each in (True, False)],
    "ports-as-functions-network": lambda: pod_ports.function_network(1, "runs"),
    "ports-as-functions-operator": lambda: pod_ports.sriov_values({"operator": "sriov-network-operator:1"}),
    "ports-as-they-are": lambda: pod_ports.port_plugin(PORTS, OPERAND),
    "ports-attached": lambda: pod_ports.secondary_networks(OPERAND),
    "ports-of-a-pod": lambda: asdict(pod_ports.own_ports_network(2, 3, {"NCCL_IB_HCA": "=card"})),
    "prometheus-adapter": lambda: adapter_values("http://there:9091", 45),
    "pool-labels": lambda: pool_labels("chats", "inference"),
    "pool-taints": lambda: [asdict(each) for each in pool_taints("chats", "inference", gpus=1)],
    "rook-ceph": operator_values,
    "secrets-of-a-cluster": lambda: {
        "encryption": secrets.encryption_key(KEY),
        "certificates": secrets.certificate_key(KEY),
        "tokens": [secrets.join_token(KEY, "gpu-7", serial) for serial in ("JQ7K02", None)],
        "munge": secrets.munge_key(KEY).hex(),
        "accounting": secrets.accounting_password(KEY),
    },
    "service-keys-from-outside": lambda: templates(["first", "second"]),
    "smoke-questions": lambda: questions([f"{'m' * 51}-b"]),
    "tolerations-of-all-pools": lambda: tolerations_of_all_pools([Taint(key="own", value="x", effect="NoExecute")]),
    "traefik": lambda: traefik_values(TRAEFIK),
    "traefik-that-tells-routes-apart": lambda: traefik_values(replace(TRAEFIK, counts_routes=True))["metrics"],
    "traefik-under-load": lambda: traefik_values(replace(TRAEFIK, scaling=supporting(3, 9)))["autoscaling"],
    "volcano": lambda: volcano_values("1.2.3"),
    "volcano-near": lambda: volcano_values("1.2.3", near=True),
}


@pytest.mark.parametrize("name", VALUES)
def test_it_is_told_what_is_written(name: str) -> None:
    assert opened(json.loads(json.dumps(VALUES[name](), default=vars))) == WRITTEN[name]


def test_nothing_else_is_written() -> None:
    assert set(WRITTEN) == set(VALUES)


def test_files_on_machines_say_what_they_are_before_the_rest() -> None:
    """A person reads them there."""
    (settings,), (pod,) = read(kubelet.patch(KUBELET)), read(vip())
    assert list(settings)[:3] == ["apiVersion", "kind", "maxPods"]
    assert list(pod["spec"]["containers"][0])[:2] == ["name", "image"]
