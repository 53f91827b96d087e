"""The namespaces of a stack, each with its level of pod security and its share of GPUs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from components.gateway.sign_in import NAMESPACE as PEOPLE
from components.kubeflow.katib_hooks import TAKES_EXPERIMENTS
from components.kubeflow.pipelines import NAMESPACE as PIPELINES
from components.platform.namespaces import NamespaceSpec
from components.platform.priorities import PRIORITIES
from components.platform.taints import GPU_RESOURCE
from components.platform.team_rights import QUEUE_KEY, TEAM_KEY
from components.tracking.mlflow import NAMESPACE as TRACKER
from planner.teams import RUNS, TeamPlan, pipelines_of, trials_of
from planner.types import Plan
from stacks.gpu_pools import GpuPool

GATEWAY, CERTIFICATES, SERVED = "gateway", "cert-manager", "inference"
"""Namespaces of the way in from outside, and of what gets its certificates."""

KEDA = "keda"
"""The namespace of what takes the last replica of a service away and brings the first one back."""

OUTSIDE = "external-secrets"
"""The namespace of what brings secrets from outside."""

SIGNATURES = "kyverno"
"""The namespace of what looks for signatures before pods are admitted. What clears up after Kyverno knows no other name
of it (kyverno v1.19.1, cmd/readiness-checker, scale-deploy).
"""

_NO_GPUS = dict.fromkeys(PRIORITIES, 0)


def namespace_specs(plan: Plan, pools: Sequence[GpuPool]) -> list[NamespaceSpec]:
    """The namespaces. Of what the baseline level forbids, training pods get what the fabric's devices ask for, and no
    more (NW03); operands of the GPU Operator mount the host. Neither side's pods may carry the other's priority, and
    inference has the GPUs of its pools and no more (A08). Among gangs the queues share, and priority decides: a quota
    would end preemption (M04).
    """
    fabric_asks = any(pool.network.capabilities for pool in pools if pool.role == "training")
    serving = sum(pool.count * pool.devices for pool in pools if pool.role == "inference")
    training = NamespaceSpec(
        name=RUNS,
        pod_security="privileged" if fabric_asks else "baseline",
        pins_memory=fabric_asks,
        gpus={"inference": 0},
        limits=True,
        labels=TAKES_EXPERIMENTS if plan.experiments else {},
    )
    return [
        training,
        *(_of_trials(plan, team, training) for team in trials_of_teams(plan).values()),
        NamespaceSpec(
            name=SERVED,
            pod_security="baseline",
            gpus={"inference": serving, "training": 0, "experiments": 0},
            limits=True,
        ),
        NamespaceSpec(name="gpu-operator", pod_security="privileged"),
        NamespaceSpec(name="volcano-system", pod_security="baseline"),
        NamespaceSpec(name="kubeflow", pod_security="baseline"),
        # Exporter and log collector of a node look into it: its network, processes and directories.
        NamespaceSpec(name="monitoring", pod_security="privileged"),
        *(NamespaceSpec(name=name, pod_security="baseline") for name in _asked_for(plan)),
        *([NamespaceSpec(name=KEDA, pod_security="restricted", gpus=_NO_GPUS)] if plan.to_zero else []),
        *([NamespaceSpec(name=PEOPLE, pod_security="restricted", gpus=_NO_GPUS)] if _people(plan) else []),
        # Steps write where runs do, as whoever their image says, and have no GPUs.
        *([NamespaceSpec(name=PIPELINES, pod_security="baseline", gpus=_NO_GPUS)] if plan.pipelines else []),
        *(_of_pipelines(name, team) for name, team in pipelines_of_teams(plan).items()),
    ]


def _of_pipelines(name: str, team: TeamPlan) -> NamespaceSpec:
    """That of a team's pipelines, whose steps people of the team write: they have no GPUs and no way in from outside,
    and none takes a node's whole memory.
    """
    return NamespaceSpec(
        name=name,
        pod_security="baseline",
        gpus=_NO_GPUS,
        most={f"requests.{GPU_RESOURCE}": "0", "services.loadbalancers": "0", "services.nodeports": "0"},
        limits=True,
        labels={TEAM_KEY: team.name, QUEUE_KEY: team.queue},
    )


def _of_trials(plan: Plan, team: TeamPlan, training: NamespaceSpec) -> NamespaceSpec:
    """The namespace of a team's trials, whose share is taken off the quota of the team's own."""
    return replace(
        training,
        name=trials_of(team.name),
        gpus={**_NO_GPUS, "experiments": plan.trial_gpus(team.name)},
        labels={**TAKES_EXPERIMENTS, TEAM_KEY: team.name, QUEUE_KEY: team.queue},
    )


def _asked_for(plan: Plan) -> Iterator[str]:
    if plan.gateway is not None:
        yield GATEWAY
    if plan.certificates:
        yield CERTIFICATES
    if plan.tracking is not None and plan.tracking.mlflow is not None:
        yield TRACKER
    if plan.external_secrets is not None:
        yield OUTSIDE
    if plan.signatures is not None:
        yield SIGNATURES


def _people(plan: Plan) -> bool:
    return plan.gateway is not None and plan.gateway.people is not None


def trials_of_teams(plan: Plan) -> Mapping[str, TeamPlan]:
    """The namespaces of teams' trials, and whose they are."""
    return {trials_of(team.name): team for team in plan.teams if trials_of(team.name) in spaces(plan)}


def pipelines_of_teams(plan: Plan) -> Mapping[str, TeamPlan]:
    """The namespaces of teams' own pipelines, and whose they are."""
    named = plan.pipelines.teams if plan.pipelines else ()
    return {pipelines_of(team.name): team for team in plan.teams if team.name in named}


def spaces(plan: Plan) -> list[str]:
    """Namespaces that may have trials: that of runs, and those of teams' experiments."""
    teams = {each.namespace for each in plan.experiments.values()} - {RUNS}
    return [RUNS, *sorted(teams)] if plan.experiments else []


def copying(plan: Plan) -> list[str]:
    """Namespaces whose pods copy from and to the object store. Katib's database is in Kubeflow's."""
    copied = plan.trial_database is not None and plan.trial_database.backup_hours is not None
    of_teams = [*trials_of_teams(plan), *pipelines_of_teams(plan)]
    return [RUNS, *of_teams, SERVED, TRACKER, PIPELINES, *(["kubeflow"] if copied else [])]
