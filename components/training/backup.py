"""A CronJob that checks the newest save of a run and copies it to the object store (T01)."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.copying import Copier, copying_container
from components.platform.jobs import repeated_job, schedule
from components.training.saving import CHECKPOINTS, saves

_SCRIPT = """\
set -eu
IFS='
'
cd "$CHECKPOINT_DIR"
newest=
for each in $(ls -1 | grep '[0-9]$' | sort -rV); do
  if [ -f "$each/SHA256SUMS" ]; then newest=$each; break; fi
done
if [ -z "$newest" ]; then
  echo "no directory of $CHECKPOINT_DIR holds SHA256SUMS yet, so there is nothing whole to copy"
  exit 0
fi
cd "$newest"
"""
_CHECKED = """\
  echo "$newest is in the object store already"
  exit 0
fi
sha256sum --check --quiet SHA256SUMS
"""


def script(copier: Copier) -> str:
    """A copy that holds SHA256SUMS is whole, as the file goes last; a save whose hashes differ is not copied at all.

    The newest save is the one of the highest step: nodes' clocks differ, and a mark in an old save makes it young.
    It is read twice, for its hashes and on its way, and not at all where the store has it: a run that has ended would
    have its last save read for ever. One that was saved again has other hashes, and its files go first: the AWS CLI
    brings no file that is as long as the object and older by its node's clock (awscli, customizations/s3/syncstrategy).
    """
    sums = '"$CHECKPOINT_URI/$newest/SHA256SUMS"'
    there = copier.stored("SHA256SUMS", sums)
    whole = copier.store(".", '"$CHECKPOINT_URI/$newest"', but="SHA256SUMS")
    last = copier.store_file("SHA256SUMS", sums)
    old = copier.clear('"$CHECKPOINT_URI/$newest"', but="SHA256SUMS")
    return f"{_SCRIPT}if {there}; then\n{_CHECKED}{old}\n{whole}\n{last}\n"


@dataclass(frozen=True, kw_only=True)
class BackupArgs:
    """Copies the newest save of `run` to `uri` every `every_seconds`, as `account`, which may write there.

    The copier runs where ordinary pods do: GPU nodes have no processor to spare.
    """

    run: str
    namespace: pulumi.Input[str]
    copier: Copier
    account: pulumi.Input[str]
    checkpoint_claim: pulumi.Input[str]
    uri: pulumi.Input[str]
    every_seconds: int


class Backup(Component):
    """The schedule. A copy that takes longer than its interval is ended, and one that waits is never doubled."""

    def __init__(self, name: str, args: BackupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        copier = copying_container(
            args.copier,
            "copy",
            ["sh", "-c", script(args.copier)],
            env=[
                core.EnvVarArgs(name="CHECKPOINT_DIR", value=CHECKPOINTS),
                core.EnvVarArgs(name="CHECKPOINT_URI", value=args.uri),
            ],
            volume_mounts=[
                core.VolumeMountArgs(
                    name="checkpoints", mount_path=CHECKPOINTS, sub_path=saves(args.run), read_only=True
                )
            ],
        )
        claim = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.checkpoint_claim)
        pod = core.PodSpecArgs(
            service_account_name=args.account,
            restart_policy="Never",
            containers=[copier],
            volumes=[core.VolumeArgs(name="checkpoints", persistent_volume_claim=claim)],
        )
        k8s.batch.v1.CronJob(
            self.named("schedule"),
            repeated_job(
                name=f"backup-{args.run}",
                namespace=args.namespace,
                schedule=schedule(args.every_seconds),
                pod=core.PodTemplateSpecArgs(spec=pod),
                backoff_limit=1,
                seconds=args.every_seconds,
            ),
            self.child(),
        )
        self.register_outputs({"everySeconds": args.every_seconds})
