"""Every platform there is, with what the tests of services and workloads expect of it: AWS' stacks and the fake one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from components.platform.copying import Copier
from components.platform.pods import PodNetwork
from components.platform.taints import GPU_TAINT, Taint
from components.serving.entry import Entry
from planner.plan import plan
from planner.types import Plan
from settings.load import from_file
from settings.model import AwsSettings
from tests.components.samples import CLI
from tests.graph.harness import Recorded
from tests.graph.stackfiles import ROOT, graph_of, stack_names
from tests.stacks import fake_platform as fake


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """A stack on a platform: its plan, what it registered, and what the platform is like, told apart from its code."""

    plan: Plan
    graph: Recorded
    ready: str
    remover: str
    nodes: Callable[[str], str]
    network: Callable[[str], PodNetwork]
    taints: Callable[[str], tuple[Taint, ...]]
    local: Mapping[str, Any]
    operator_values: Mapping[str, Any]
    scheme: str
    copier: Copier
    entry: Entry

    def spec(self, name: str) -> dict[str, Any]:
        """The spec of the registered object of that logical name."""
        found: dict[str, Any] = self.graph.one(name).inputs["spec"]
        return found

    def gang(self, run: str) -> dict[str, Any]:
        """The pod template of a run's Master."""
        found: dict[str, Any] = self.spec(f"run-{run}-job")["pytorchReplicaSpecs"]["Master"]["template"]
        return found


@cache
def deployed(name: str) -> Deployed:
    """The fake platform, or a committed stack on AWS."""
    return _fake() if name == "fake" else _aws(name)


def _fake() -> Deployed:
    return Deployed(
        plan=fake.fake_plan(),
        graph=fake.fake_graph(),
        ready=fake.READY,
        remover=fake.REMOVER,
        nodes=lambda pool: f"example-{pool}-nodes",
        network=lambda pool: fake.RAILS if pool == "training" else PodNetwork(),
        taints=lambda _: fake.TAINTS,
        local={
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "storageClassName": fake.LOCAL_CLASS,
                        "resources": {"requests": {"storage": "30720G"}},
                    }
                }
            }
        },
        operator_values=fake.OPERATOR_VALUES,
        scheme="cask",
        copier=fake.CaskClient(),
        entry=fake.ENTRY,
    )


def _aws(name: str) -> Deployed:
    settings = from_file(ROOT / f"Pulumi.{name}.yaml")
    assert isinstance(settings, AwsSettings)
    planned = plan(settings)
    efa = {pool: each.efa for pool, each in planned.pools.items()}

    def fabric(pool: str) -> PodNetwork:
        if not efa[pool]:
            return PodNetwork()
        return PodNetwork(
            resources={"vpc.amazonaws.com/efa": efa[pool]},
            env={"FI_PROVIDER": "efa"},
            between={"NCCL_NET": "AWS Libfabric", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"},
            capabilities=("IPC_LOCK",),
        )

    return Deployed(
        plan=planned,
        graph=graph_of(name),
        ready="service-addons-coredns",
        remover="service-addons-aws-ebs-csi-driver",
        nodes=lambda pool: f"pool-{pool}-nodes",
        network=fabric,
        taints=lambda pool: (
            (GPU_TAINT, Taint(key="gpucluster/pool", value=pool))
            if planned.pools[pool].role == "inference"
            else (GPU_TAINT,)
        ),
        local={"emptyDir": {}},
        operator_values={"driver": {"enabled": False}, "toolkit": {"enabled": False}, "gds": {"enabled": False}},
        scheme="s3",
        copier=CLI,
        entry=Entry(),
    )


every_platform = pytest.mark.parametrize("stack", ["fake", *stack_names()])
