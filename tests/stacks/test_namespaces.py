"""Each namespace's level of pod security and share of GPUs, as the plan of a stack with everything says (Y15)."""

import dataclasses

from components.platform.pods import PodNetwork
from planner.types import AwsPlan
from stacks.gpu_pools import GpuPool, gpu_pool
from stacks.namespaces import copying, namespace_specs
from tests.planner.stacks import plan_of
from tests.planner.test_external_secrets import HUB
from tests.planner.test_signatures import supply
from tests.stacks.fake_platform import rates
from tests.stacks.test_people import config

KATIB = {"katib.kubeflow.org/metrics-collector-injection": "enabled"}
NOTHING = {"training": 0, "experiments": 0, "inference": 0}
SPECS: dict[str, dict[str, object]] = {
    "training": {"pod_security": "privileged", "pins_memory": True, "gpus": {"inference": 0}, "labels": KATIB},
    "trials-vision": {
        "pod_security": "privileged",
        "pins_memory": True,
        "gpus": {**NOTHING, "experiments": 1},
        "labels": {**KATIB, "gpucluster/team": "vision", "gpucluster/queue": "vision"},
    },
    "inference": {"pod_security": "baseline", "gpus": {**NOTHING, "inference": 3}},
    "gpu-operator": {"pod_security": "privileged"},
    "monitoring": {"pod_security": "privileged"},
    **{
        name: {"pod_security": "baseline"}
        for name in (
            *("volcano-system", "kubeflow", "gateway", "cert-manager"),
            *("tracking", "external-secrets", "kyverno"),
        )
    },
    "people": {"pod_security": "restricted", "gpus": NOTHING},
    "pipelines": {"pod_security": "baseline", "gpus": NOTHING},
    "pipelines-vision": {
        "pod_security": "baseline",
        "gpus": NOTHING,
        "most": {"requests.nvidia.com/gpu": "0", "services.loadbalancers": "0", "services.nodeports": "0"},
        "labels": {"gpucluster/team": "vision", "gpucluster/queue": "vision"},
    },
}


def everything() -> AwsPlan:
    """Pages for people, secrets from outside, signed images, and an experiment and pipelines of a team."""
    told = config()
    told["gpucluster:pools"][2]["count"] = 3
    told["gpucluster:scheduling"]["queues"].append({"name": "vision", "gpus": 2})
    members = [{"role": "viewer", "group": "research"}]
    told["gpucluster:teams"] = [{"name": "vision", "queue": "vision", "gpus": 2, "members": members}]
    run = told["gpucluster:training"]["runs"][0]["name"]
    told["gpucluster:training"]["experiments"] = [{**rates(), "run": run, "nodes": 1, "team": "vision"}]
    told["gpucluster:training"]["pipelines"] = {"teams": ["vision"]}
    return plan_of({**told, "gpucluster:externalSecrets": {"secrets": HUB}, "gpucluster:supply": supply()})


def pools(plan: AwsPlan, *, asks: bool) -> list[GpuPool]:
    """The GPU pools; whether the fabric `asks` for memory that stays where it is."""
    fabric = PodNetwork(capabilities=("IPC_LOCK",)) if asks else PodNetwork()
    return [
        gpu_pool(pool, fabric if pool.role == "training" else PodNetwork(), None)  # type: ignore[arg-type]
        for pool in plan.pools.values()
        if pool.gpus_per_node
    ]


def test_each_namespace_has_its_level_and_its_share() -> None:
    plan = everything()
    found = {each.name: dataclasses.asdict(each) for each in namespace_specs(plan, pools(plan, asks=True))}
    limited = ("training", "trials-vision", "inference", "pipelines-vision")
    plain = {"pins_memory": False, "gpus": {}, "most": {}, "labels": {}}
    assert found == {name: {"name": name, **plain, "limits": name in limited, **spec} for name, spec in SPECS.items()}


def test_without_such_a_fabric_training_is_held_as_others_are() -> None:
    plan = everything()
    found = {each.name: each for each in namespace_specs(plan, pools(plan, asks=False))}
    assert [(found[name].pod_security, found[name].pins_memory) for name in ("training", "trials-vision")] == [
        ("baseline", False)
    ] * 2


def test_the_store_is_prepared_where_pods_copy() -> None:
    assert copying(everything()) == [
        "training",
        "trials-vision",
        "pipelines-vision",
        "inference",
        "tracking",
        "pipelines",
        "kubeflow",
    ]
