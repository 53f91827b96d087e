"""Keeps every verdict of a pool's nodes in the object store; the ConfigMap has only the last of each node."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.accounts import service_account
from components.platform.copying import Copier, copying_container
from components.platform.jobs import repeated_job

SCHEDULE = "45 */6 * * *"
VERDICTS = "/verdicts"
_SECONDS = 1800


def script(copier: Copier) -> str:
    """Each node's verdict goes where its node and its time say, so that the same one is written over itself.

    The time is read by the shell: the copier's image need not have more.
    """
    store = copier.store_file("verdict.json", '"$HISTORY_URI/$node/$at.json"')
    return f"""\
set -eu
cd /tmp
for each in {VERDICTS}/*; do
  [ -f "$each" ] || continue
  node=${{each##*/}} at=
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *'"at": "'*) at=${{line#*'"at": "'}}; at=${{at%%'"'*}};; esac
  done < "$each"
  if [ -z "$at" ]; then echo "the verdict of $node has no time, and is not kept"; continue; fi
  cp "$each" verdict.json
  {store}
done
"""


@dataclass(frozen=True, kw_only=True)
class GateHistoryArgs:
    """Keeps what is in `config_map` at `uri`, as the account of that name, which may write there when `granted`."""

    pool: str
    namespace: pulumi.Input[str]
    config_map: str
    account: str
    granted: pulumi.Input[str]
    copier: Copier
    uri: pulumi.Input[str]
    after: pulumi.Resource


class GateHistory(Component):
    """The schedule: four times a day, of which one comes after the weekly measurement."""

    def __init__(self, name: str, args: GateHistoryArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        account = service_account(self, args.account, args.namespace, args.granted)
        keep = copying_container(
            args.copier,
            "keep",
            ["sh", "-c", script(args.copier)],
            env=[core.EnvVarArgs(name="HISTORY_URI", value=args.uri)],
            volume_mounts=[core.VolumeMountArgs(name="verdicts", mount_path=VERDICTS, read_only=True)],
        )
        verdicts = core.ConfigMapVolumeSourceArgs(name=args.config_map)
        pod = core.PodSpecArgs(
            service_account_name=account,
            restart_policy="Never",
            containers=[keep],
            volumes=[core.VolumeArgs(name="verdicts", config_map=verdicts)],
        )
        k8s.batch.v1.CronJob(
            self.named("schedule"),
            repeated_job(
                name=args.account,
                namespace=args.namespace,
                schedule=SCHEDULE,
                pod=core.PodTemplateSpecArgs(spec=pod),
                backoff_limit=1,
                seconds=_SECONDS,
            ),
            self.child(depends_on=[args.after]),
        )
        self.register_outputs({"pool": args.pool})
