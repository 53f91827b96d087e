"""Services of every platform, before the first workload: namespaces, operators, the gang scheduler and its queues."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from catalogue import versions
from catalogue.supply import Supply
from components.kubeflow.pipelines import NAMESPACE as PIPELINES
from components.layers import Scheduling
from components.platform.charts import Chart, ChartArgs
from components.platform.gang_admission import GangAdmission, GangAdmissionArgs
from components.platform.hyper_nodes import HyperNodes, HyperNodesArgs
from components.platform.metrics_server import metrics_server_values
from components.platform.namespaces import Namespaces, NamespacesArgs
from components.platform.network_rules import NetworkRules, NetworkRulesArgs
from components.platform.pinned_memory import PinnedMemory
from components.platform.priorities import Priorities
from components.platform.queues import Queues, QueuesArgs, QueueSpec
from components.platform.sandbox import Sandbox
from components.platform.training_operator import TrainingOperator, TrainingOperatorArgs
from components.platform.volcano import volcano_values
from components.platform.volumes_end import VolumesEnd, VolumesEndArgs, volumes_end_files
from components.storage.claims import ClaimSpec
from planner.teams import RUNS
from planner.types import Plan
from stacks import devices
from stacks.certificates import deploy_certificates
from stacks.charts import chart_source
from stacks.namespaces import copying, namespace_specs, pipelines_of_teams, spaces, trials_of_teams
from stacks.network import mail_ports, network_rules
from stacks.outside import Outside, deploy_outside
from stacks.platform import Platform
from stacks.signatures import checked

DATA, CHECKPOINTS, WEIGHTS = ("training", "training-data"), ("training", "checkpoints"), ("inference", "model-weights")
HOME = "home"


@dataclass(frozen=True, kw_only=True)
class Services:
    """What workloads refer to. Names resolve when the things exist; `claims` go by (namespace, claim).

    `gpus` is what shows that a pool's GPUs work, by its name; `outside` brings secrets that the stack file has not,
    `certificates` is what shows that cert-manager takes orders.
    """

    namespaces: Mapping[str, pulumi.Output[str]]
    priorities: Mapping[str, pulumi.Output[str]]
    queues: Mapping[str, pulumi.Output[str]]
    claims: Mapping[tuple[str, str], pulumi.Output[str]]
    training_operator: pulumi.Resource
    monitors: pulumi.Resource
    gpus: Mapping[str, Sequence[pulumi.Resource]]
    outside: Outside | None
    certificates: pulumi.Resource | None


def deploy_services(plan: Plan, platform: Platform) -> Services:
    """Register the services; everything with pods comes after `platform.cluster.ready`."""
    kubernetes = platform.cluster.provider
    at_platform = pulumi.ResourceOptions(parent=platform.layer, providers=[kubernetes])
    specs, trials = namespace_specs(plan, list(platform.pools.values())), trials_of_teams(plan)
    if any(spec.pins_memory for spec in specs):
        PinnedMemory("pinned-memory", at_platform)
    namespaces: Mapping[str, pulumi.Output[str]] = Namespaces(
        "namespaces",
        NamespacesArgs(
            namespaces=specs,
            after=_volumes_end(plan.supply, platform, at_platform),
        ),
        at_platform,
    ).names
    if platform.firewall:
        namespaces = platform.firewall.placed("pod-firewall", namespaces, at_platform)
    platform.objects.prepare({name: namespaces[name] for name in copying(plan) if name in namespaces}, at_platform)
    rules = network_rules(
        platform.connections,
        mail_ports(plan),
        tuple(plan.measured),
        gateway=plan.gateway,
        trials=spaces(plan),
        tracking=plan.tracking,
        outside=plan.external_secrets is not None,
        to_zero=plan.to_zero,
        pipelines=[PIPELINES, *pipelines_of_teams(plan)] if plan.pipelines else [],
        registry=plan.signatures.port if plan.signatures else None,
    )
    NetworkRules("network-rules", NetworkRulesArgs(rules=rules, names=namespaces), at_platform)
    if any(pool.sandboxed for pool in plan.pools.values()):
        Sandbox("sandbox", at_platform)
    monitors = _monitors(plan.supply, platform, namespaces, at_platform)
    namespaces = checked(plan, platform, namespaces, monitors, at_platform)
    Chart(
        "metrics-server",
        ChartArgs(
            source=chart_source(versions.METRICS_SERVER, plan.supply),
            namespace="kube-system",
            values=metrics_server_values(sum(pool.count for pool in plan.pools.values())),
            after=platform.cluster.ready,
        ),
        at_platform,
    )
    gpus = devices.deploy_devices(plan, platform, namespaces, monitors, at_platform)
    scheduling = Scheduling("scheduling", pulumi.ResourceOptions(providers=[kubernetes]))
    at_scheduling = pulumi.ResourceOptions(parent=scheduling)
    volcano = _volcano(plan.supply, platform, namespaces["volcano-system"], at_scheduling)
    queues = [
        QueueSpec(name=queue.name, weight=queue.weight, gpus=queue.gpus, reclaimable=queue.reclaimable)
        for queue in plan.queues
    ]
    operator = TrainingOperator(
        "training-operator",
        TrainingOperatorArgs(
            version=versions.TRAINING_OPERATOR,
            crd_sha256=versions.TRAINING_OPERATOR_CRD_SHA256,
            image=plan.supply.image(versions.TRAINING_OPERATOR_IMAGE),
            kubectl_image=plan.supply.image(versions.KUBECTL_IMAGE),
            fetch_image=plan.supply.image(versions.WAIT_IMAGE),
            namespace=namespaces["kubeflow"],
            jobs=namespaces[RUNS],
            more={each: namespaces[each] for each in trials},
            scheduler=volcano,
            limited=any(pool.exclusive_cpus for pool in plan.pools.values()),
        ),
        at_scheduling,
    )
    if platform.hyper_nodes:
        HyperNodes("hyper-nodes", HyperNodesArgs(nodes=platform.hyper_nodes, scheduler=volcano), at_scheduling)
    if platform.home:
        platform.home.claims("home-claims", [home_claim("training", namespaces["training"])])
    return Services(
        namespaces=namespaces,
        priorities=Priorities("priorities", at_scheduling).names,
        queues=Queues("queues", QueuesArgs(queues=queues, scheduler=volcano), at_scheduling).names,
        claims=platform.shared.claims(
            "claims",
            _claims(namespaces, [*trials, *([PIPELINES] if plan.pipelines else [])]),
        ),
        training_operator=operator.ready,
        monitors=monitors,
        gpus=gpus,
        outside=deploy_outside(plan, platform, namespaces, at_platform),
        certificates=deploy_certificates(plan, platform, namespaces, monitors, at_platform),
    )


def _volumes_end(supply: Supply, platform: Platform, inside: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """What namespaces come after, as claims of anybody may be in any: the removal of volumes, where somebody removes
    them.
    """
    if platform.remover is None:
        return []
    args = VolumesEndArgs(
        image=supply.image(versions.PYTHON_IMAGE),
        files=volumes_end_files(),
        after=[platform.remover, platform.cluster.ready],
    )
    return [VolumesEnd("volumes-end", args, inside).held]


def _volcano(
    supply: Supply, platform: Platform, namespace: pulumi.Output[str], inside: pulumi.ResourceOptions
) -> pulumi.Resource:
    """The gang scheduler; returns what shows that it takes queues and gangs."""
    values = volcano_values(versions.VOLCANO.version, near=bool(platform.hyper_nodes))
    chart = ChartArgs(
        source=chart_source(versions.VOLCANO, supply), namespace=namespace, values=values, after=platform.cluster.ready
    )
    admission = GangAdmissionArgs(
        namespace=namespace,
        image=supply.image(versions.KUBECTL_IMAGE),
        revision=f"{versions.VOLCANO.version} {json.dumps(values, sort_keys=True)}",
        scheduler=Chart("volcano", chart, inside).release,
    )
    return GangAdmission("gang-admission", admission, inside).ready


def _monitors(
    supply: Supply, platform: Platform, namespaces: Mapping[str, pulumi.Output[str]], inside: pulumi.ResourceOptions
) -> pulumi.Resource:
    """The kinds of monitors. The GPU Operator skips monitors it has no CRD for, so it comes after them."""
    return Chart(
        "prometheus-operator-crds",
        ChartArgs(
            source=chart_source(versions.PROMETHEUS_OPERATOR_CRDS, supply),
            namespace=namespaces["monitoring"],
            after=platform.cluster.ready,
        ),
        inside,
    ).release


def _claims(namespaces: Mapping[str, pulumi.Output[str]], others: Sequence[str]) -> list[ClaimSpec]:
    """Every claim that a workload names (G31); pods that only read say so themselves (G32). In `others` steps of
    pipelines, and trials of teams, find data and checkpoints by the names that runs find them by.
    """
    more = [(each, name) for each in others for _, name in (DATA, CHECKPOINTS)]
    return [
        ClaimSpec(
            namespace=namespace,
            name=name,
            namespace_ref=namespaces[namespace],
        )
        for namespace, name in (DATA, CHECKPOINTS, WEIGHTS, *more)
    ]


def home_claim(namespace: str, there: pulumi.Input[str]) -> ClaimSpec:
    """The claim of people's own files in a namespace; `there` is its name once it exists."""
    return ClaimSpec(namespace=namespace, name=HOME, namespace_ref=there)
