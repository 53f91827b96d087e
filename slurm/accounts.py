"""Accounts, shares and qualities of service: slurmdbd.conf, and the commands that make of queues what Slurm has."""

from collections.abc import Iterator

from planner.slurm_types import AccountPlan, SlurmPlan
from slurm.controller import DATABASE_PORT

PASSWORD = "REPLACE_WITH_THE_PASSWORD_OF_THE_DATABASE"  # noqa: S105 - what stands for one
QOS = ("training", "experiments")
"""By the names of runs' priorities; the first may take the GPUs of the second."""

_TRAINING_PRIORITY = 1000


def slurmdbd_conf(plan: SlurmPlan) -> str:
    """For the machine with the database alone, to be read by the user slurm and nobody else (mode 0600)."""
    return f"""\
# {plan.database.name} alone has this file, as slurm:slurm with mode 0600: slurmdbd refuses any other.
AuthType=auth/munge
DbdHost={plan.database.name}
DbdPort={DATABASE_PORT}
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageLoc=slurm_acct_db
StorageUser=slurm
StoragePass={PASSWORD}
PurgeEventAfter=12months
PurgeJobAfter=24months
PurgeStepAfter=12months
"""


def accounts_sh(cluster: str, plan: SlurmPlan) -> str:
    """Commands for a head, once slurmdbd answers; a second time they change nothing."""
    commands = [*_qualities(plan), *(line for each in plan.accounts for line in _account(each))]
    return "\n".join(
        [
            "#!/bin/bash",
            f"# Accounts and qualities of service of {cluster}: on a head, as root. People are added to an account by",
            "#   sacctmgr -i add user NAME account=ACCOUNT",
            "set -euo pipefail",
            "",
            "# sacctmgr add fails on what is there already.",
            'there() { sacctmgr -nP show "$1" "$2" format="$3" | grep -qx "$2"; }',
            "",
            *commands,
            "",
        ]
    )


def _qualities(plan: SlurmPlan) -> Iterator[str]:
    first, second = QOS
    for name in QOS:
        yield f"there qos {name} name || sacctmgr -i add qos {name}"
    per_user = -1 if plan.max_jobs_per_user is None else plan.max_jobs_per_user
    takes = "" if plan.preempt == "off" else second
    limit = f"MaxJobsPerUser={per_user}"
    yield f'sacctmgr -i modify qos {first} set priority={_TRAINING_PRIORITY} preempt="{takes}" {limit}'
    mode = "" if plan.preempt == "off" else f" preemptmode={plan.preempt}"
    yield (f"sacctmgr -i modify qos {second} set priority=0{mode} GraceTime={plan.grace_s} {limit}")


def _account(account: AccountPlan) -> Iterator[str]:
    gpus = -1 if account.gpus is None else account.gpus
    name = account.name
    yield f"there account {name} account || sacctmgr -i add account {name} description={name} organization={name}"
    yield (
        f"sacctmgr -i modify account {name} set fairshare={account.shares} GrpTRES=gres/gpu={gpus} "
        f"qos={','.join(QOS)} DefaultQOS={QOS[1]}"
    )
