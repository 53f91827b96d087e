"""`run-watch`: records why each run failed: class, node, rank and next step (V01).

One small Deployment follows the pods of all runs. It stands outside of them because pods and their logs are gone when
they are needed: the operator removes those of a job that failed. A side-car would share its pod's end, and needs rights
in the API server that a training script could then use. Events live for an hour; so what is found stays in a ConfigMap,
which this account alone writes, and is an event of the job as well.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
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

_NODE = Path(__file__).parents[2] / "node"


@cache
def watch_files() -> dict[str, str]:
    """Modules by name, with the one of the gates that speaks with the API server."""
    found = [*sorted((_NODE / "watch").glob("*.py")), _NODE / "gates" / "publish.py"]
    return {each.name: each.read_text(encoding="utf-8") for each in found}


@dataclass(frozen=True, kw_only=True)
class RunWatchArgs:
    """Runs of `namespace`. `image` has Python. `files` are the script's, by name; `table` is monitoring.words' text."""

    namespace: pulumi.Input[str]
    image: str
    files: Mapping[str, str]
    table: str


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
            self.named("failures"), core.ConfigMapInitArgs(metadata=_meta(KEPT, args.namespace)), self.child()
        )
        script = Script(
            image=args.image,
            directory=SCRIPTS,
            files={**args.files, TABLE: args.table},
            command=command(),
            labels={WATCH_KEY: "true"},
            memory="256Mi",
        )
        scripted(self, NAME, args.namespace, NAME, script, [kept, *self._rights(args.namespace)])
        self.register_outputs({"failures": KEPT})

    def _rights(self, namespace: pulumi.Input[str]) -> list[pulumi.Resource]:
        """To read the namespace's pods and their logs, to take one away, and to write what it found."""
        rbac = k8s.rbac.v1
        rule = rbac.PolicyRuleArgs
        account = k8s.core.v1.ServiceAccount(
            self.named("account"), k8s.core.v1.ServiceAccountInitArgs(metadata=_meta(NAME, namespace)), self.child()
        )
        role = rbac.Role(
            self.named("rights"),
            rbac.RoleInitArgs(
                metadata=_meta(NAME, namespace),
                rules=[
                    rule(api_groups=[""], resources=["pods"], verbs=["get", "list", "watch", "delete"]),
                    rule(api_groups=[""], resources=["pods/log"], verbs=["get"]),
                    rule(api_groups=[""], resources=["events"], verbs=["create", "patch"]),
                    rule(api_groups=[""], resources=["configmaps"], resource_names=[KEPT], verbs=["get", "patch"]),
                ],
            ),
            self.child(),
        )
        bound = rbac.RoleBinding(
            self.named("binding"),
            rbac.RoleBindingInitArgs(
                metadata=_meta(NAME, namespace),
                role_ref=rbac.RoleRefArgs(
                    api_group="rbac.authorization.k8s.io", kind="Role", name=role.metadata.name.apply(str)
                ),
                subjects=[rbac.SubjectArgs(kind="ServiceAccount", name=NAME, namespace=namespace)],
            ),
            self.child(),
        )
        return [account, bound]


def _meta(name: str, namespace: pulumi.Input[str]) -> Any:
    return k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace)


def table() -> str:
    """monitoring.words' table as the script reads it."""
    return json.dumps(words.told(), indent=1)
