"""Copies of databases in the stack's own bucket, each in a place of its own where its pods alone may write (R07)."""

from collections.abc import Sequence

import pulumi

from components.platform.database_backup import BACKUP_KEY, DatabaseBackup, DatabaseBackupArgs
from components.platform.network_rules import Flow, Pods, Reach, Rule, at
from components.platform.servers import Database
from stacks.platform import Platform
from stacks.purposes import address

COPIES = Pods(having=BACKUP_KEY)


def back_up(
    name: str,
    account: str,
    namespace: pulumi.Input[str],
    database: Database,
    prefix: str,
    every_hours: int | None,
    platform: Platform,
    inside: pulumi.ResourceOptions,
) -> None:
    """Register the schedule `name`, whose pods of `account` write below `prefix`; None hours are none."""
    if every_hours is None:
        return
    objects = platform.objects
    granted = objects.writer(f"{account}-identity", prefix=prefix, namespace=namespace, account=account, opts=inside)
    args = DatabaseBackupArgs(
        account=account,
        namespace=namespace,
        database=database,
        copier=objects.copier,
        granted=granted,
        uri=address(objects, prefix),
        every_hours=every_hours,
    )
    DatabaseBackup(name, args, inside)


def copies_rule(name: str, asks: Flow, stores: Sequence[Reach]) -> Rule:
    """The pods that copy ask the database and the object store, and nobody asks them."""
    return Rule(name=name, pods=COPIES, egress=[asks, *map(at, stores)])
