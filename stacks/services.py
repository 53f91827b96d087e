"""Services of every platform, before the first workload: namespaces, operators, the gang scheduler and its queues."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pulumi

from catalogue import versions
from catalogue.supply import Supply
from components.gateway.sign_in import NAMESPACE as PEOPLE
from components.kubeflow.katib_hooks import TAKES_EXPERIMENTS
from components.kubeflow.pipelines import NAMESPACE as PIPELINES
from components.layers import Scheduling
from components.platform.charts import Chart, ChartArgs
from components.platform.gang_admission import GangAdmission, GangAdmissionArgs
from components.platform.hyper_nodes import HyperNodes, HyperNodesArgs
from components.platform.metrics_server import metrics_server_values
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.network_rules import NetworkRules, NetworkRulesArgs
from components.platform.pinned_memory import PinnedMemory
from components.platform.priorities import PRIORITIES, Priorities
from components.platform.queues import Queues, QueuesArgs, QueueSpec
from components.platform.sandbox import Sandbox
from components.platform.team_rights import QUEUE_KEY, TEAM_KEY
from components.platform.training_operator import TrainingOperator, TrainingOperatorArgs
from components.platform.volcano import volcano_values
from components.platform.volumes_end import VolumesEnd, VolumesEndArgs, volumes_end_files
from components.storage.claims import ClaimSpec
from components.tracking.mlflow import NAMESPACE as TRACKER
from planner.teams import RUNS, trials_of
from planner.types import Plan
from stacks import devices
from stacks.certificates import deploy_certificates
from stacks.charts import chart_source
from stacks.gpu_pools import GpuPool
from stacks.network import CERTIFICATES, GATEWAY, OUTSIDE, SIGNATURES, mail_ports, network_rules
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


class Trials(NamedTuple):
    """The namespace of a team's trials, the GPUs that they hold at most, and its labels."""

    name: str
    gpus: int
    labels: Mapping[str, str]


def namespace_specs(
    pools: Sequence[GpuPool],
    *,
    gateway: bool = False,
    tracker: bool = False,
    outside: bool = False,
    pipelines: bool = False,
    people: bool = False,
    signatures: bool = False,
    experiments: bool = False,
    trials: Sequence[Trials] = (),
) -> list[NamespaceSpec]:
    """The namespaces. Of what the baseline level forbids, training pods get what the fabric's devices ask for, and no
    more (NW03); operands of the GPU Operator mount the host. Neither side's pods may carry the other's priority, and
    inference has the GPUs of its pools and no more (A08). Among gangs the queues share, and priority decides: a quota
    would end preemption (M04).
    """
    fabric_asks = any(pool.network.capabilities for pool in pools if pool.role == "training")
    no_gpus = dict.fromkeys(PRIORITIES, 0)
    serving = sum(pool.count * pool.devices for pool in pools if pool.role == "inference")

    training = NamespaceSpec(
        name=RUNS,
        pod_security="privileged" if fabric_asks else "baseline",
        pins_memory=fabric_asks,
        gpus={"inference": 0},
        limits=True,
        labels=TAKES_EXPERIMENTS if experiments else {},
    )
    return [
        training,
        *(
            replace(training, name=name, gpus={**no_gpus, "experiments": gpus}, labels={**TAKES_EXPERIMENTS, **labels})
            for name, gpus, labels in trials
        ),
        NamespaceSpec(
            name="inference",
            pod_security="baseline",
            gpus={"inference": serving, "training": 0, "experiments": 0},
            limits=True,
        ),
        NamespaceSpec(name="gpu-operator", pod_security="privileged"),
        NamespaceSpec(name="volcano-system", pod_security="baseline"),
        NamespaceSpec(name="kubeflow", pod_security="baseline"),
        # Exporter and log collector of a node look into it: its network, processes and directories.
        NamespaceSpec(name="monitoring", pod_security="privileged"),
        *([NamespaceSpec(name=GATEWAY, pod_security="baseline")] if gateway else []),
        *([NamespaceSpec(name=CERTIFICATES, pod_security="baseline")] if gateway or experiments else []),
        *([NamespaceSpec(name=TRACKER, pod_security="baseline")] if tracker else []),
        *([NamespaceSpec(name=PEOPLE, pod_security="restricted", gpus=no_gpus)] if people else []),
        *([NamespaceSpec(name=OUTSIDE, pod_security="baseline")] if outside else []),
        *([NamespaceSpec(name=SIGNATURES, pod_security="baseline")] if signatures else []),
        # Steps write where runs do, as whoever their image says, and have no GPUs.
        *([NamespaceSpec(name=PIPELINES, pod_security="baseline", gpus=no_gpus)] if pipelines else []),
    ]


def spaces(plan: Plan) -> list[str]:
    """Namespaces that may have trials: that of runs, and those of teams' experiments."""
    teams = {each.namespace for each in plan.experiments.values()} - {RUNS}
    return [RUNS, *sorted(teams)] if plan.experiments else []


def _of_teams(plan: Plan) -> list[Trials]:
    """The namespaces of teams' trials, whose share is taken off the quota of the team's own."""
    return [
        Trials(trials_of(team.name), plan.trial_gpus(team.name), {TEAM_KEY: team.name, QUEUE_KEY: team.queue})
        for team in plan.teams
        if trials_of(team.name) in spaces(plan)
    ]


def _with_copies(plan: Plan) -> tuple[str, ...]:
    """Namespaces whose pods copy from and to the object store. Katib's database is in Kubeflow's."""
    copied = plan.trial_database is not None and plan.trial_database.backup_hours is not None
    trials = [each.name for each in _of_teams(plan)]
    return (RUNS, *trials, "inference", TRACKER, PIPELINES, *(("kubeflow",) if copied else ()))


def deploy_services(plan: Plan, platform: Platform) -> Services:
    """Register the services; everything with pods comes after `platform.cluster.ready`."""
    kubernetes = platform.cluster.provider
    at_platform = pulumi.ResourceOptions(parent=platform.layer, providers=[kubernetes])
    specs = namespace_specs(
        list(platform.pools.values()),
        gateway=plan.gateway is not None,
        tracker=plan.tracking is not None and plan.tracking.mlflow is not None,
        outside=plan.external_secrets is not None,
        pipelines=plan.pipelines is not None,
        people=plan.gateway is not None and plan.gateway.people is not None,
        signatures=plan.signatures is not None,
        experiments=bool(plan.experiments),
        trials=_of_teams(plan),
    )
    if any(spec.pins_memory for spec in specs):
        PinnedMemory("pinned-memory", at_platform)
    namespaces = Namespaces(
        "namespaces",
        NamespacesArgs(
            namespaces=specs,
            after=_volumes_end(plan.supply, platform, at_platform),
        ),
        at_platform,
    ).names
    platform.objects.prepare({name: namespaces[name] for name in _with_copies(plan) if name in namespaces}, at_platform)
    rules = network_rules(
        platform.connections,
        mail_ports(plan),
        tuple(plan.measured),
        gateway=plan.gateway,
        trials=spaces(plan),
        tracking=plan.tracking,
        outside=plan.external_secrets is not None,
        pipelines=plan.pipelines is not None,
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
            more={each.name: namespaces[each.name] for each in _of_teams(plan)},
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
            _claims(namespaces, [each.name for each in _of_teams(plan)] + ([PIPELINES] if plan.pipelines else [])),
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
