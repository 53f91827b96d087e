"""The Node object that the kubelet of an EKS node registers."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rehearsal.cloud.seen.hardware import Machine
from rehearsal.kube.quantities import amounts
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.topology import GPU

LEASE_SECONDS = 40
EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
DEFAULT_DISK_GIB = 20
HUGEPAGES_MIB = 10256


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def eni_pods(machine: Machine) -> int:
    """Pods that nodeadm counts for a type: interfaces of the first card x (addresses - 1) + 2, whatever EFA takes.

    Source: amazon-eks-ami, nodeadm/internal/kubelet/eni_max_pods.go.
    """
    return machine.interfaces * (machine.addresses_per_interface - 1) + 2


def max_pods(host: Host) -> int:
    """Pods per node: EKS' number for a managed group without a custom AMI, else the NodeConfig's, else nodeadm's.

    EKS writes the type's number, at most 110 below 30 vCPU and 250 from there, into the node's user data, and that
    comes before everything else (EKS user guide, "How maxPods is determined").
    """
    count = eni_pods(host.machine)
    if host.ami_type != "CUSTOM":
        return min(count, 110 if host.machine.vcpus < 30 else 250)
    configured = ((host.node_config.get("kubelet") or {}).get("config") or {}).get("maxPods")
    return int(configured) if configured else count


def reserved_cpu(vcpus: int) -> int:
    """Millicores EKS keeps for the kubelet: 6 % of the first core, 1 % of the second, 0.5 % of two more, 0.25 % of the
    rest (source: awslabs/amazon-eks-ami, nodeadm's kubelet defaults).
    """
    shares = [60, 10, 5, 5]
    return int(sum(shares[:vcpus]) + 2.5 * max(0, vcpus - len(shares)))


def reserved_memory(pods: int) -> int:
    """MiB EKS keeps for the kubelet (255 + 11 for each of nodeadm's `eni_pods`) and for eviction (100).

    Source: as `reserved_cpu`.
    """
    return 255 + 11 * pods + 100


def seen_memory(machine: Machine) -> int:
    """MiB of memory the kernel reports: what the hypervisor, firmware and kernel keep is gone.

    A fit to capacities seen on EKS nodes (m5.large 7724 MiB, p5.48xlarge about 2,048,000 MiB), good to 1 %.
    """
    return int(machine.memory * 0.9765 - 275)


def capacity(host: Host, disk_gib: int) -> tuple[dict[str, str], dict[str, str]]:
    """(capacity, allocatable) before any device plugin; memory and disks in Ki or Gi as a kubelet writes them."""
    kept = reserved_memory(eni_pods(host.machine))
    config = (host.node_config.get("kubelet") or {}).get("config") or {}
    system = int(amounts(config.get("systemReserved")).get("cpu", 0) * 1000)
    huge = HUGEPAGES_MIB if host.efa_interfaces and host.driver else 0
    if host.bottlerocket:
        huge = 2 * int(host.node_config.get("sysctl", {}).get("vm.nr_hugepages", huge // 2))
    memory, disk = seen_memory(host.machine), ephemeral_gib(host, disk_gib)
    shown = {
        "cpu": str(host.machine.vcpus),
        "memory": f"{memory * 1024}Ki",
        "ephemeral-storage": f"{disk}Gi",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": f"{huge}Mi",
        "pods": str(max_pods(host)),
        **({GPU: str(host.machine.gpu_count)} if host.bottlerocket and host.driver else {}),
    }
    usable = {
        **shown,
        "cpu": f"{host.machine.vcpus * 1000 - reserved_cpu(host.machine.vcpus) - system}m",
        "memory": f"{(memory - kept - huge) * 1024}Ki",
        "ephemeral-storage": f"{max(1, disk * 9 // 10 - 1)}Gi",
    }
    return shown, usable


def ephemeral_gib(host: Host, disk_gib: int) -> int:
    """Node storage: the local NVMe if nodeadm makes a RAID of it for the kubelet, else the root volume."""
    strategy = ((host.node_config.get("instance") or {}).get("localStorage") or {}).get("strategy")
    if strategy in ("RAID0", "RAID10") and host.machine.local_nvme:
        usable = host.machine.local_nvme if strategy == "RAID0" else host.machine.local_nvme // 2
        return usable * 10**9 // 2**30
    return disk_gib


def labels(host: Host, nodegroup: Mapping[str, Any], region: str) -> dict[str, str]:
    """Labels of the kubelet and of EKS (source: EKS user guide, "Managed node groups", and well-known labels)."""
    arch = "amd64" if host.machine.architecture == "x86_64" else "arm64"
    standard = {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/instance-type": host.machine.instance_type,
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": host.zone,
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": host.node,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": host.machine.instance_type,
        "topology.ebs.csi.aws.com/zone": host.zone,
        "topology.k8s.aws/zone-id": host.zone_id,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": host.zone,
    }
    if not host.nodegroup:
        return {**standard, **(nodegroup.get("labels") or {})}
    standard["eks.amazonaws.com/capacityType"] = nodegroup.get("capacityType") or "ON_DEMAND"
    standard["eks.amazonaws.com/nodegroup"] = host.nodegroup
    standard["eks.amazonaws.com/nodegroup-image"] = host.image_id
    if host.template:
        standard["eks.amazonaws.com/sourceLaunchTemplateId"] = host.template[0]
        standard["eks.amazonaws.com/sourceLaunchTemplateVersion"] = host.template[1]
    return {**standard, **(nodegroup.get("labels") or {})}


def taints(nodegroup: Mapping[str, Any]) -> list[dict[str, str]]:
    """The node group's taints as Kubernetes writes them."""
    return [
        {"key": taint["key"], "value": taint.get("value") or "", "effect": EFFECTS[taint["effect"]]}
        for taint in nodegroup.get("taints") or []
    ]


def node(host: Host, nodegroup: Mapping[str, Any], region: str) -> dict[str, Any]:
    """The object to create, marked as one that kwok may send heartbeats for."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": host.node,
            "labels": labels(host, nodegroup, region),
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"providerID": f"aws:///{host.zone}/{host.instance_id}", "taints": taints(nodegroup)},
    }


def status(host: Host, disk_gib: int, version: str) -> dict[str, Any]:
    """The status a kubelet first reports: not ready, for there is no pod network yet."""
    shown, usable = capacity(host, disk_gib)
    return {
        "addresses": [
            {"type": "InternalIP", "address": host.address},
            {"type": "InternalDNS", "address": host.node},
            {"type": "Hostname", "address": host.node},
        ],
        "capacity": shown,
        "allocatable": usable,
        "conditions": [*not_ready(), *_pressures()],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64" if host.machine.architecture == "x86_64" else "arm64",
            "bootID": host.instance_id,
            "containerRuntimeVersion": "containerd://2.2.5",
            "kernelVersion": "6.12.0-amzn2023",
            "kubeProxyVersion": "",
            "kubeletVersion": version,
            "machineID": host.instance_id.replace("i-", "ec2"),
            "operatingSystem": "linux",
            "osImage": f"Bottlerocket OS {host.system[1]}" if host.bottlerocket else "Amazon Linux 2023",
            "systemUUID": host.instance_id.replace("i-", "ec2"),
        },
    }


def lease(node: str, holder: str | None) -> dict[str, Any]:
    """The node's lease, renewed now, as a kubelet keeps it in kube-node-lease; without a holder anybody may take it."""
    renewed = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {
        "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": renewed,
        **({"holderIdentity": holder} if holder else {}),
    }
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": "kube-node-lease"},
        "spec": spec,
    }


def without_runtime() -> list[dict[str, str]]:
    """The kubelet's Ready condition while its container runtime does not answer (pkg/kubelet/runtime.go)."""
    return [_condition("False", "KubeletNotReady", "[container runtime is down, PLEG is not healthy]")]


def unknown() -> list[dict[str, str]]:
    """The Ready condition that the node lifecycle controller writes for a kubelet that is silent for too long.

    Source: pkg/controller/nodelifecycle, tryUpdateNodeHealth.
    """
    return [_condition("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")]


def lasting(node: Mapping[str, Any], conditions: list[dict[str, str]]) -> list[dict[str, str]]:
    """Conditions with their lastTransitionTime: a kubelet changes it only when the status changes."""
    before = {(each["type"], each["status"]): each for each in (node.get("status") or {}).get("conditions") or []}
    return [
        {**each, "lastTransitionTime": before.get((each["type"], each["status"]), each)["lastTransitionTime"]}
        for each in conditions
    ]


def not_ready() -> list[dict[str, str]]:
    """The kubelet's Ready condition while no CNI plugin has written its configuration."""
    message = (
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
        "message:Network plugin returns error: cni plugin not initialized"
    )
    return [_condition("False", "KubeletNotReady", message)]


def _pressures() -> list[dict[str, str]]:
    kinds = {"Memory": "HasSufficientMemory", "Disk": "HasNoDiskPressure", "PID": "HasSufficientPID"}
    return [
        {**_condition("False", f"Kubelet{reason}", f"kubelet {reason}"), "type": f"{kind}Pressure"}
        for kind, reason in kinds.items()
    ]


def ready() -> list[dict[str, str]]:
    return [_condition("True", "KubeletReady", "kubelet is posting ready status")]


def _condition(value: str, reason: str, message: str) -> dict[str, str]:
    stamp = now()
    return {
        "type": "Ready",
        "status": value,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }


def boot_id(node: Mapping[str, Any]) -> str:
    """An id that differs after each start of the machine; empty before the kubelet has told it."""
    return str(((node.get("status") or {}).get("nodeInfo") or {}).get("bootID") or "")


def is_ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
