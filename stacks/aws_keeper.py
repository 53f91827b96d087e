"""The keeper of a stack on AWS."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pulumi

from components.aws.keeper import Keeper, KeeperArgs
from components.aws.keys import Keys
from components.aws.logs import log_group_prefix
from planner.types import AwsPlan
from stacks.aws_ground import Account, cluster_name
from stacks.providers import PROJECT_TAG, STACK_TAG

_MOMENT = "%Y-%m-%dT%H:%M:%SZ"
_HERE = Path(__file__).parents[1]
_SHARED = tuple(
    f"sweep/{name}.py" for name in ("__init__", "account", "controllers", "ends", "found", "remove", "things")
)


def code() -> dict[str, str]:
    """The function's files by their place in its archive: its own, and those of the sweep, whose order it keeps."""
    own = {each.name: each for each in sorted((_HERE / "node" / "keeper").glob("*.py"))}
    files = own | {name: _HERE / name for name in _SHARED}
    return {name: path.read_text(encoding="utf-8") for name, path in files.items()}


def keeper(plan: AwsPlan, account: Account, keys: Keys, layer: pulumi.Resource) -> Keeper | None:
    """Register what keeps the stack; None where the stack file has no keeper."""
    kept = plan.keeper
    if kept is None:
        return None
    args = KeeperArgs(
        code=code(),
        region=plan.deployment.region,
        partition=account.partition,
        account_id=account.id,
        cluster_name=cluster_name(),
        key_arn=keys.arn,
        log_group=f"{log_group_prefix(cluster_name())}keeper",
        tags={PROJECT_TAG: pulumi.get_project(), STACK_TAG: pulumi.get_stack()},
        tag_key=STACK_TAG,
        ends=kept.ends.strftime(_MOMENT) if kept.ends else "never",
        warn_hours=kept.warn_hours,
        hourly_usd=round(kept.hourly_usd, 4),
        max_usd=kept.max_usd,
        counts_from=f"{datetime.now(UTC):%Y-%m-%d_%H:%M}",
        emails=kept.emails,
        gpu_pools=kept.gpu_pools,
        off_hours=kept.off_hours.model_dump() if kept.off_hours else None,
        blocks=[
            {**asdict(each), "start": f"{each.start:{_MOMENT}}", "end": f"{each.end:{_MOMENT}}"} for each in kept.blocks
        ],
        spots=[asdict(each) for each in kept.spots],
    )
    return Keeper("keeper", args, pulumi.ResourceOptions(parent=layer))
