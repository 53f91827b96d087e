"""`run-watch`: records why each run failed: class, node, rank and next step (V01).

One small Deployment follows the pods of all runs. It stands outside of them because pods and their logs are gone when
they are needed: the operator removes those of a job that failed. A side-car would share its pod's end, and needs rights
in the API server that a training script could then use. Events live for an hour; so what is found stays in a ConfigMap,
which this account alone writes, and is an event of the job as well.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.node_files import node_files
from components.platform.rights import granted
from components.platform.scripted import IDENTITY, Script, scripted
from monitoring import words

NAME, KEPT = "run-watch", "run-failures"
"""Of all its objects but one: the ConfigMap of what was found, a key for each run."""

WATCH_KEY = "gpucluster/watches-runs"
"""Label of its pod, by which others let it in."""

SCRIPTS, TABLE = "/opt/gpucluster/watch", "table.json"
HANG_STEPS = 20
HANG_LEAST_SECONDS = 900
"""Longer than PyTorch lets a collective wait (600 s), whose own end leaves better evidence. Assumed."""


def watch_files() -> dict[str, str]:
    """Modules by name, with the one of the gates that speaks with the API server."""
    return node_files("watch/*.py", "gates/publish.py")


@dataclass(frozen=True, kw_only=True)
class RunWatchArgs:
    """Runs of `namespace`. `image` has Python. `files` are the script's, by name; `table` is monitoring.words' text. It
    comes `after` what lets pods run.
    """

    namespace: pulumi.Input[str]
    image: str
    files: Mapping[str, str]
    table: str
    after: Sequence[pulumi.Resource] = ()


def command() -> list[str]:
    """The script with the limits from which on a run hangs."""
    return [
        "python3",
        f"{SCRIPTS}/watch.py",
        f"--identity={IDENTITY}",
        f"--config-map={KEPT}",
        f"--table={SCRIPTS}/{TABLE}",
        f"--steps={HANG_STEPS}",
        f"--least-seconds={HANG_LEAST_SECONDS}",
    ]


class RunWatch(Component):
    """The Deployment, its rights and what it writes to."""

    def __init__(self, name: str, args: RunWatchArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        kept = core.ConfigMap(
            self.named("failures"),
            core.ConfigMapInitArgs(metadata=k8s.meta.v1.ObjectMetaArgs(name=KEPT, namespace=args.namespace)),
            self.child(),
        )
        script = Script(
            image=args.image,
            directory=SCRIPTS,
            files={**args.files, TABLE: args.table},
            command=command(),
            labels={WATCH_KEY: "true"},
            memory="256Mi",
        )
        scripted(self, NAME, args.namespace, self._account(args.namespace), script, [kept, *args.after])
        self.register_outputs({"failures": KEPT})

    def _account(self, namespace: pulumi.Input[str]) -> pulumi.Output[str]:
        """It reads the namespace's pods and their logs, takes one away, and writes what it found."""
        rule = k8s.rbac.v1.PolicyRuleArgs
        rights = [
            rule(api_groups=[""], resources=["pods"], verbs=["get", "list", "watch", "delete"]),
            rule(api_groups=[""], resources=["pods/log"], verbs=["get"]),
            rule(api_groups=[""], resources=["events"], verbs=["create", "patch"]),
            rule(api_groups=[""], resources=["configmaps"], resource_names=[KEPT], verbs=["get", "patch"]),
        ]
        return granted(self, NAME, namespace, [], {"": (namespace, rights)})


def table() -> str:
    """monitoring.words' table as the script reads it."""
    return json.dumps(words.told(), indent=1)
