"""A Deployment that cordons nodes with hardware faults (U03, U04, U05).

It is the health check that sets a node down in Slurm, for Kubernetes: the same alerts that call people cordon the node
before the next pod comes, as a gang that lands on a broken GPU stops all of its others. It moves nothing, so that a run
that still goes on does so, and it never takes more than a few nodes of a pool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.node_files import node_files
from components.platform.policies import admitted
from components.platform.rights import granted
from components.platform.scripted import IDENTITY, Script, scripted
from components.platform.taints import GATE_KEY, POOL_KEY

NAME = "isolation"
SCRIPTS = "/opt/gpucluster/isolation"
LABELS = {"gpucluster/isolates": "true"}
LOOK_SECONDS = 30
"""As often as the rules are evaluated (monitoring.failure.Subject)."""

CALM_SECONDS = 600
"""So long nothing must be said of a node before it comes back: longer than an exporter or Prometheus takes to begin
anew, and than `for` of any alert that isolates. Assumed."""


def isolation_files() -> dict[str, str]:
    """Modules by name, with the one of the gates that speaks with the API server."""
    return node_files("isolation/*.py", "gates/publish.py")


@dataclass(frozen=True, kw_only=True)
class IsolationArgs:
    """Nodes of `pools`, at most `most` of each at a time, by what the Prometheus at this address says.

    `image` has Python; `files` are the script's, by name.
    """

    namespace: pulumi.Input[str]
    image: str
    files: Mapping[str, str]
    prometheus: str
    pools: Sequence[str]
    most: int
    after: Sequence[pulumi.Resource] = ()


def rules() -> dict[str, str]:
    """Expressions of CEL that a change of a node must satisfy, by the sentence that a refusal shows."""
    labels, before, gate = "object.metadata.labels", "oldObject.metadata.labels", f"key.startsWith('{GATE_KEY}')"
    taints = "(has({}.spec.taints) ? {}.spec.taints : [])"
    return {
        "the node belongs to a pool": f"'{POOL_KEY}' in {before}",
        f"of the labels it takes away those that begin with {GATE_KEY}": (
            f"{labels}.all(key, key in {before} && {before}[key] == {labels}[key])"
            f" && {before}.all(key, {gate} || key in {labels})"
        ),
        "of the rest it changes whether new pods come": (
            f"{taints.replace('{}', 'object')} == {taints.replace('{}', 'oldObject')}"
        ),
    }


class Isolation(Component):
    """The Deployment and its rights."""

    def __init__(self, name: str, args: IsolationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        script = Script(
            image=args.image,
            directory=SCRIPTS,
            files=args.files,
            command=[
                "python3",
                f"{SCRIPTS}/isolate.py",
                f"--identity={IDENTITY}",
                f"--prometheus={args.prometheus}",
                *(f"--pool={pool}" for pool in args.pools),
                f"--most={args.most}",
                f"--calm-seconds={CALM_SECONDS}",
                f"--look-seconds={LOOK_SECONDS}",
            ],
            labels=LABELS,
            memory="128Mi",
        )
        account = self._account(args.namespace)
        scripted(self, NAME, args.namespace, account, script, args.after)
        self.register_outputs({})

    def _account(self, namespace: pulumi.Input[str]) -> pulumi.Output[str]:
        """It changes nodes as `rules` say, and writes events of nodes, which lie in the namespace default."""
        rule = k8s.rbac.v1.PolicyRuleArgs
        changes = k8s.admissionregistration.v1.NamedRuleWithOperationsArgs(
            api_groups=[""], api_versions=["v1"], operations=["UPDATE"], resources=["nodes"]
        )
        bound = admitted(self, NAME, (namespace, NAME), NAME, changes, rules())
        nodes = rule(api_groups=[""], resources=["nodes"], verbs=["get", "list", "patch"])
        events = rule(api_groups=[""], resources=["events"], verbs=["create"])
        return granted(self, NAME, namespace, [nodes], {"events": ("default", [events])}, after=[bound])
