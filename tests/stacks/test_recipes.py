"""What the plan says of a run arrives in what starts it, and what it forecasts in what alerts compare with."""

from dataclasses import asdict, replace

import pytest

from components.training.saving import LOCAL
from monitoring.limits import Limits, MachineLimits, PoolLimits, RunLimits, ServiceLimits
from monitoring.thresholds import Threshold
from planner.workload_types import RunPlan
from settings.alerts import Alerts
from settings.site import Controllers, Sensors
from stacks.metal_watching import machines
from stacks.monitoring_rules import limits
from stacks.recipes import recipe, started
from tests.stacks.test_machines_told import planned as on_metal
from tests.stacks.test_wiring import planned


def run() -> RunPlan:
    return planned().runs["pretrain"]


def test_a_recipe_has_the_numbers_of_the_plan() -> None:
    """Those of tests/stacks/wired, and what follows: three nodes of eight, eight of which are one copy of the model."""
    found = recipe(run())
    assert found
    assert asdict(found) | {"model": found.model.name} == {
        "framework": "megatron",
        "script": ("/opt/train.py", "--config", "/opt/big.yaml"),
        "model": "llama-3-8b",
        "tensor": 2,
        "pipeline": 4,
        "context": 1,
        "expert": 1,
        "data": 3,
        "micro_batch": 2,
        "accumulation": 32,
        "global_batch": 192,
        "sequence": 4096,
        "method": "full",
        "precision": "bf16",
        "gradients": "fp32",
        "sharding": "zero1",
        "recompute": "full",
        "elastic": False,
        "steps": 3815,
        "places": {
            "shared": "/checkpoints",
            "local": "/local-checkpoints",
            "every_seconds": 3600,
            "shared_seconds": 7200,
            "keep": 4,
            "every_steps": 682,
            "shared_steps": 1365,
        },
        "directory": "/data",
        "metrics_port": 9111,
        "profile": (21, 23),
        "loader_workers": None,
        "virtual_stages": 1,
        "expert_tensor": None,
        "ends_as_layers": False,
    }


@pytest.mark.parametrize(
    ("layers", "degrees", "told"),
    [
        (32, {"virtual_stages": 4}, (4, None, False)),
        (30, {"virtual_stages": 2}, (2, None, True)),
        (126, {"pipeline": 16}, (1, None, True)),
        (32, {"expert": 2, "tensor": 2, "data": 3}, (1, 1, False)),
        (32, {"expert": 3, "tensor": 2, "data": 3}, (1, None, False)),
    ],
)
def test_a_recipe_says_how_layers_and_experts_are_dealt_out_c06_c08(
    layers: int, degrees: dict[str, int], told: tuple[int, int | None, bool]
) -> None:
    """126 layers and both ends are 8 for each of 16 stages; 2 ranks of experts take tensor ranks where data is 3."""
    planned, launched = run().training, run().launch.architecture
    assert planned
    assert launched
    training = replace(planned, layout=replace(planned.layout, **degrees))
    launch = replace(run().launch, architecture=replace(launched, layers=layers))
    found = recipe(replace(run(), training=training, launch=launch))
    assert found
    assert (found.virtual_stages, found.expert_tensor, found.ends_as_layers) == told


def test_what_the_plan_does_not_say_is_not_in_the_recipe() -> None:
    """A profile of one step ends with it; a run without data, saves or a model has none to speak of."""
    one = replace(run(), launch=replace(run().launch, profile_to=None))
    none = replace(run(), launch=replace(run().launch, profile_from=None), dataset=None, saving=None)
    saving = run().saving
    assert saving
    kept = replace(run(), saving=replace(saving, local=False))
    first, second, third = recipe(one), recipe(none), recipe(kept)
    assert first
    assert second
    assert third
    assert first.profile == (21, 21)
    assert (second.profile, second.directory, second.places) == (None, None, None)
    assert third.places
    assert third.places.local is None
    assert LOCAL == "/local-checkpoints"
    assert recipe(replace(run(), launch=replace(run().launch, architecture=None))) is None
    assert recipe(replace(run(), training=None)) is None


def test_a_run_starts_with_its_files_and_the_stack_files_own_variables_over_all_others() -> None:
    found = started(replace(run(), topology="<system/>"))
    assert found.launch.words[:2] == ("--numa-binding=core-complex", "/opt/train.py")
    assert found.environment == {
        "NCCL_NET_PLUGIN": "aws-ofi",
        "NCCL_TOPO_FILE": "/opt/gpucluster/topology/node.xml",
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        "RUN_PLAN": "/etc/gpucluster/launch/plan.json",
        "NCCL_DEBUG": "TRACE",
    }
    assert {place: sorted(files) for place, files in found.files.items()} == {
        "/etc/gpucluster/launch": ["plan.json"],
        "/opt/gpucluster/staging": ["disks.py", "pumping.py", "stage.py"],
        "/opt/gpucluster/topology": ["node.xml"],
    }
    assert found.files["/opt/gpucluster/topology"]["node.xml"] == "<system/>"
    own = replace(run().launch, variables=(("NCCL_NET_PLUGIN", "mine"),))
    assert started(replace(run(), launch=own)).environment["NCCL_NET_PLUGIN"] == "mine"


def test_a_script_of_the_users_starts_as_it_is() -> None:
    (plain,) = on_metal("ports").runs.values()
    found = started(replace(plain, staging="none"))
    assert (found.launch.words, found.environment, found.files) == (plain.script, {}, {})
    trainer = started(replace(plain, staging="none", launch=replace(plain.launch, framework="reference")))
    assert "/opt/gpucluster/trainer" in trainer.files


def test_alerts_compare_with_what_is_planned() -> None:
    """The stack's own threshold has the unit of the one that it replaces."""
    watched = planned().monitoring
    assert watched
    assert isinstance(watched.alerts, Alerts)
    hot = Threshold(77, "C", "contract with the data centre")
    expected = Limits(
        pools=(
            PoolLimits(name="big", gpus_per_node=8),
            PoolLimits(name="spare", gpus_per_node=1),
            PoolLimits(name="chats", gpus_per_node=4),
        ),
        runs=(RunLimits(name="pretrain", pool="big", nodes=3, tokens_per_s=173814, mfu=0.4, checkpoint_s=3600),),
        services=(ServiceLimits(name="chat", most=4),),
        thresholds={("gpu-hot", "celsius"): hot},
    )
    assert limits(planned(), watched.alerts.thresholds) == expected
    unsaid = replace(planned(), runs={"pretrain": replace(run(), training=None, saving=None)})
    assert limits(unsaid).runs == (RunLimits(name="pretrain", pool="big", nodes=3),)


@pytest.mark.parametrize("asked", [False, True])
def test_machines_are_watched_where_their_controllers_are_asked(asked: bool) -> None:
    plan = on_metal("ports")
    assert plan.site
    sensors = Sensors(user="reader", secret="sensors") if asked else None
    controllers = Controllers(user="ops", port=443, authority=None, sensors=sensors)
    site = replace(plan.site, controllers=controllers)
    found = machines(plan, site)
    training = plan.pools["training"].server
    assert (found == []) is not asked
    expected = MachineLimits(pool="training", power_supplies=training.power_supplies.count, inlet_c=training.inlet_c)
    assert not asked or expected in found
