"""NCCL and libfabric, EFA, and where in a node pods fit."""

import base64
import json
from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, gpus, pod, resource, template, thing, training, variables

FAST, EFA, NUMA = "collectives_take_the_fast_path", "gangs_take_their_efa", "pods_fit_a_numa_node"
ON_EFA = gpus(8, **{"vpc.amazonaws.com/efa": "32"})
ON_RDMA = gpus(8, **{"rdma/hca": "8"})
ON_PORTS = gpus(8, **{"nvidia.com/rail0": "1"})
POOL: dict[str, Any] = {"nodeSelector": {"pool": "a"}}


def run(container: dict[str, Any] | None = None, **env: str) -> Resource:
    """A gang on EFA with these variables."""
    return training(container={**ON_EFA, **variables(**env), **(container or {})})


def one(number: int, **env: str) -> Resource:
    """A server on GPUs with these variables."""
    return deployment({**gpus(number), **variables(**env)})


WRONG_ON_EFA: dict[str, Any] = {
    "NCCL_IB_DISABLE": "1",
    "NCCL_P2P_DISABLE": "1",
    "NCCL_SHM_DISABLE": "1",
    "NCCL_P2P_LEVEL": "LOC",
    "NCCL_SOCKET_IFNAME": "ib0",
    "GLOO_SOCKET_IFNAME": "ens5",
    "NCCL_ALGO": "Ring",
    "NCCL_PROTO": "Simple",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NET": "Socket",
    "NCCL_NET_PLUGIN": "none",
    "FI_PROVIDER": "tcp",
    "FI_EFA_USE_DEVICE_RDMA": "0",
    "NCCL_IB_GID_INDEX": "3",
    "NCCL_IB_HCA": "=mlx5_0",
    "NCCL_NET_GDR_LEVEL": "5",
    "NCCL_CROSS_NIC": "1",
    "NCCL_TOPO": "/topology.xml",
}
RIGHT_ON_EFA: dict[str, Any] = {
    "NCCL_IB_DISABLE": "0",
    "NCCL_P2P_LEVEL": "NVL",
    "NCCL_SOCKET_IFNAME": "eth0",
    "GLOO_SOCKET_IFNAME": "^lo,docker",
    "NCCL_NET": "AWS Libfabric",
    "NCCL_NET_PLUGIN": "libnccl-net-ofi.so",
    "FI_PROVIDER": "efa",
    "FI_EFA_USE_DEVICE_RDMA": "1",
    "NCCL_NET_GDR_LEVEL": "SYS",
    "NCCL_CROSS_NIC": "0",
    "NCCL_DEBUG": "INFO",
    "NCCL_TOPO_FILE": "/topology.xml",
}
CONF = thing("core/v1", "ConfigMap", "nccl", data={"nccl.conf": "NCCL_DEBUG=WARN\nNCCL_IB_DISABLE=1\n"})
VARIABLES = [
    *(Program(FAST, (run(**{name: value}),), f"sets {name}={value}") for name, value in WRONG_ON_EFA.items()),
    *(Program(FAST, (run(**{name: value}),)) for name, value in RIGHT_ON_EFA.items()),
    Program(
        FAST, (training(volumes=[{"name": "conf", "configMap": {"name": "nccl"}}]), CONF), "sets NCCL_IB_DISABLE=1"
    ),
    Program(FAST, (training(volumes=[{"name": "conf", "configMap": {"name": "other"}}]), CONF)),
    Program(FAST, (run(FI_PROVIDER="sockets"),), "sets FI_PROVIDER=sockets"),
    Program(FAST, (run(FI_PROVIDER="^efa"),), "sets FI_PROVIDER=^efa"),
    Program(FAST, (run(NCCL_NET_PLUGIN="spcx"),), "sets NCCL_NET_PLUGIN=spcx"),
    Program(FAST, (run(NCCL_NET_PLUGIN=""),), "EFA is reached through aws-ofi-nccl alone"),
    Program(FAST, (run(NCCL_SOCKET_IFNAME="^eth"),), "sets NCCL_SOCKET_IFNAME=^eth"),
    Program(FAST, (run(NCCL_SOCKET_IFNAME="lo"),), "sets NCCL_SOCKET_IFNAME=lo"),
    Program(FAST, (one(2, NCCL_SOCKET_IFNAME="ib0"),), "a pod's interface is eth0"),
    Program(FAST, (one(1, FI_PROVIDER="efa"),), "asks for no vpc.amazonaws.com/efa"),
    Program(FAST, (training(container={**ON_RDMA, **variables(NCCL_IB_HCA="mlx5_1")}),), "each name is a prefix"),
    Program(FAST, (training(container={**ON_RDMA, **variables(NCCL_NET="Socket")}),), "are then not used"),
    Program(FAST, (training(container={**ON_PORTS, **variables(NCCL_NET="Socket")}),), "are then not used"),
    Program(
        FAST, (run({"command": ["sh", "-c", "export NCCL_IB_DISABLE=1 && torchrun x"]}),), "sets NCCL_IB_DISABLE=1"
    ),
    Program(FAST, (run({"command": ["mpirun"], "args": ["-x", "NCCL_ALGO=Tree", "x"]}),), "sets NCCL_ALGO=Tree"),
    Program(
        FAST,
        (
            run({"envFrom": [{"prefix": "NCCL_", "configMapRef": {"name": "nccl"}}]}),
            thing("core/v1", "ConfigMap", "nccl", data={"IB_DISABLE": "1"}),
        ),
        "sets NCCL_IB_DISABLE=1",
    ),
    Program(
        FAST,
        (
            training(
                container={
                    "env": [{"name": "NCCL_NET", "valueFrom": {"configMapKeyRef": {"name": "nccl", "key": "net"}}}],
                    **ON_EFA,
                }
            ),
            thing("core/v1", "ConfigMap", "nccl", data={"net": "Socket"}),
        ),
        "sets NCCL_NET=Socket",
    ),
    Program(FAST, (one(1, NCCL_P2P_DISABLE="1", NCCL_IB_DISABLE="1"),)),
    Program(FAST, (one(1, NCCL_P2P_LEVEL="LOC", NCCL_NET="Socket", FI_PROVIDER="tcp", NCCL_NET_PLUGIN="none"),)),
    Program(FAST, (one(1, NCCL_IB_HCA="=mlx5_0", FI_EFA_USE_DEVICE_RDMA="0", NCCL_CROSS_NIC="1"),)),
    Program(FAST, (one(2, NCCL_NET_GDR_LEVEL="LOC"),), "sets NCCL_NET_GDR_LEVEL=LOC"),
    Program(FAST, (run(NCCL_SOCKET_IFNAME="$IFACE", NCCL_IB_HCA="", NCCL_NET="", FI_PROVIDER=""),)),
    Program(FAST, (training(container=variables(NCCL_IB_DISABLE="1")),), "its nodes then speak over sockets"),
    Program(FAST, (deployment({**ON_RDMA, **variables(NCCL_IB_DISABLE="1")}),), "sets NCCL_IB_DISABLE=1"),
    Program(FAST, (deployment({**ON_EFA, **variables(NCCL_IB_DISABLE="1")}),), "sets NCCL_IB_DISABLE=1"),
    Program(FAST, (training(container={**ON_RDMA, **variables(NCCL_NET="IB", NCCL_IB_HCA="mlx5_0,mlx5_2")}),)),
    Program(FAST, (deployment(variables(FI_PROVIDER="efa"), resourceClaims=[{"name": "efa"}]),)),
    Program(FAST, (training(hostNetwork=True, container=variables(NCCL_SOCKET_IFNAME="lo")),), "IFNAME=lo"),
    Program(FAST, (thing("core/v1", "Pod", spec=pod(variables(NCCL_SOCKET_IFNAME="net1"))),), "IFNAME=net1"),
    Program(
        FAST,
        (
            thing(
                "apps/v1",
                "Deployment",
                spec={
                    "template": {
                        "metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "rail"}},
                        "spec": pod(variables(NCCL_SOCKET_IFNAME="net1")),
                    }
                },
            ),
        ),
    ),
    Program(
        FAST,
        (run({"env": [{"name": "NCCL_ALGO", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}]}),),
    ),
    Program(FAST, (training(container={**ON_RDMA, **variables(NCCL_IB_HCA="=mlx5_0,mlx5_1")}),)),
    Program(FAST, (training(hostNetwork=True, container=variables(NCCL_SOCKET_IFNAME="ens5")),)),
]


def nodes(
    *interfaces: str, kubelet: dict[str, str] | None = None, instance: str = "p5.48xlarge"
) -> tuple[Resource, ...]:
    """A node group whose nodes have these interfaces and this kubelet."""
    config = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"kubelet": {"config": kubelet or {}}},
    }
    head = 'Content-Type: multipart/mixed; boundary="B"'
    text = f"{head}\n\n--B\nContent-Type: application/node.eks.aws\n\n{json.dumps(config)}\n--B--\n"
    given = [{"interfaceType": kind, "networkCardIndex": card} for card, kind in enumerate(interfaces)]
    made = resource(
        "aws:ec2/launchTemplate:LaunchTemplate",
        "template",
        name="template",
        instanceType=instance,
        networkInterfaces=given,
        userData=base64.b64encode(text.encode()).decode(),
    )
    group = resource("aws:eks/nodeGroup:NodeGroup", "nodes", launchTemplate={"name": "template"}, labels={"pool": "a"})
    return made, group


SINGLE = {"topologyManagerPolicy": "single-numa-node"}
PLACES = [
    Program(EFA, (*nodes("interface", "efa-only"), training(**POOL)), "would use TCP"),
    Program(EFA, (*nodes("efa"), training(**POOL)), "is a gang on nodes with 1 EFA"),
    Program(EFA, (*nodes("interface", "efa-only"), training(container=ON_EFA, **POOL))),
    Program(EFA, (*nodes("interface"), training(**POOL))),
    Program(EFA, (*nodes("efa"), deployment(gpus(8), **POOL))),
    Program(EFA, (*nodes("efa"), training(nodeSelector={"pool": "b"}))),
    Program(EFA, (*nodes("efa"), training())),
    Program(EFA, (*nodes("efa"), training(container=gpus(0), **POOL))),
    Program(NUMA, (*nodes(kubelet=SINGLE), training(**POOL)), "a NUMA node of p5.48xlarge has 4"),
    Program(
        NUMA,
        (
            *nodes(kubelet={**SINGLE, "cpuManagerPolicy": "static"}),
            deployment({"resources": {"requests": {"cpu": "120"}}}, **POOL),
        ),
        "asks for 120 CPUs",
    ),
    Program(
        NUMA,
        (
            *nodes(),
            thing(
                "batch.volcano.sh/v1alpha1",
                "Job",
                spec={"tasks": [{"topologyPolicy": "single-numa-node", "template": template(gpus(8), **POOL)}]},
            ),
        ),
        "asks for 8 GPUs",
    ),
    Program(NUMA, (*nodes(kubelet={"topologyManagerPolicy": "best-effort"}), training(**POOL))),
    Program(NUMA, (*nodes(kubelet=SINGLE), deployment(gpus(4), **POOL))),
    Program(NUMA, (*nodes(kubelet=SINGLE, instance="m7i.48xlarge"), deployment(**POOL))),
    Program(NUMA, (*nodes(kubelet=SINGLE, instance="p4d.24xlarge"), training(**POOL)), "p4d.24xlarge has 4"),
    Program(
        NUMA,
        (*nodes(kubelet=SINGLE), deployment({"resources": {"requests": {"cpu": "120"}}}, **POOL)),
    ),
    Program(
        NUMA,
        (
            *nodes(kubelet={**SINGLE, "cpuManagerPolicy": "static"}),
            deployment({"resources": {"requests": {"cpu": "96"}}}, **POOL),
        ),
    ),
    Program(NUMA, (*nodes(kubelet=SINGLE, instance="p5.4xlarge"), thing("core/v1", "Pod", spec=pod(gpus(1), **POOL)))),
]
PROGRAMS = [*VARIABLES, *PLACES]
