"""The plan's gates, which measure pools before their first run."""

import pulumi

from catalogue.supply import Supply
from catalogue.versions import PYTHON_IMAGE
from components.training import launch as launching
from components.training.gate_history import GateHistory, GateHistoryArgs
from components.training.gate_pods import GateArgs, GateBenchmark, GatePairs, GateTest, gate_files
from components.training.gates import Gate
from planner.communication.thresholds import GIB
from planner.gate_types import GatePlan, PairPlan
from planner.interconnect import Gate as Test
from planner.types import Plan
from planner.workload_types import RunPlan
from stacks.platform import Platform
from stacks.purposes import address
from stacks.recipes import recipe
from stacks.services import CHECKPOINTS, Services
from stacks.shapes import shape


def deploy_gates(
    plan: Plan, platform: Platform, services: Services, inside: pulumi.ResourceOptions
) -> dict[str, pulumi.Resource]:
    """Register the gates; what shows that a pool was measured, by the pool's name."""
    return {pool: _gate(each, plan.supply, platform, services, inside) for pool, each in plan.measured.items()}


def _gate(
    gate: GatePlan, supply: Supply, platform: Platform, services: Services, inside: pulumi.ResourceOptions
) -> pulumi.Resource:
    pool = platform.pools[gate.pool]
    args = GateArgs(
        pool=pool.name,
        gpu_product=pool.gpu_product,
        taints=pool.taints,
        namespace=services.namespaces["training"],
        nodes=gate.nodes,
        image=supply.image(gate.image),
        shape=shape(gate.pod, pool.network),
        env={"NCCL_NET_PLUGIN": gate.net_plugin} if gate.net_plugin else {},
        files=gate_files(trains=gate.benchmark is not None),
        benchmark=_benchmark(gate.benchmark) if gate.benchmark else None,
        provider=gate.provider,
        devices=gate.devices,
        tests=[_test(each) for each in gate.tests],
        pairs=_pairs(gate.pairs) if gate.pairs else None,
        storage_mib=gate.storage_mib,
        write_gb_per_s=gate.write_gb_per_s,
        read_gb_per_s=gate.read_gb_per_s,
        claim=services.claims[CHECKPOINTS],
        priority=services.priorities["experiments"],
        seconds=gate.seconds,
        weekly=gate.weekly,
        asker=supply.image(PYTHON_IMAGE),
        expiry_days=gate.expiry_days,
        links=gate.links,
        copies={"host": gate.copies.host, "peer": gate.copies.peer} if gate.copies else {},
        after=[pool.nodes_ready, *services.gpus[pool.name]],
    )
    measured = Gate(f"gate-{gate.pool}", args, inside).measured
    if gate.history:
        _history(gate.pool, measured, platform, services, inside)
    return measured


def _history(
    pool: str, measured: pulumi.Resource, platform: Platform, services: Services, inside: pulumi.ResourceOptions
) -> None:
    account, prefix, objects = f"gate-{pool}-history", f"gates/{pool}", platform.objects
    namespace = services.namespaces["training"]
    args = GateHistoryArgs(
        pool=pool,
        namespace=namespace,
        config_map=f"gate-{pool}-verdicts",
        account=account,
        granted=objects.writer(f"{account}-identity", prefix=prefix, namespace=namespace, account=account, opts=inside),
        copier=objects.copier,
        uri=address(objects, prefix),
        after=measured,
    )
    GateHistory(account, args, inside)


def _pairs(pairs: PairPlan) -> GatePairs:
    return GatePairs(
        program=pairs.program,
        warn=pairs.warn,
        fail=pairs.fail,
        latency_us=pairs.latency_us,
        rounds=pairs.rounds,
        seconds=pairs.seconds,
    )


def _benchmark(run: RunPlan) -> GateBenchmark:
    found = recipe(run)
    if found is None or run.forecast is None:
        raise ValueError("a benchmark is planned with a model")
    return GateBenchmark(
        model=found.model.name, words=launching.launch(found).words[1:], tokens_per_s=run.forecast.tokens_per_s
    )


def _test(test: Test) -> GateTest:
    size = test.size_gib or 0.0
    return GateTest(
        test=f"{test.test} {test.reach}, {test.nodes} nodes, {size:g} GiB",
        operation=test.test.replace("-", "_"),
        nodes=test.nodes,
        bytes=round(size * GIB),
        warn=test.threshold.warn,
        fail=test.threshold.fail,
    )
