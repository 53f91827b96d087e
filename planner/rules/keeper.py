"""The end of a stack that ends by itself."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta

from planner.blocks import block_times
from planner.draft import AwsDraft, aws_rule, aws_warning
from planner.findings import Observation
from planner.keeper import end_of, ends_by_itself, is_lab
from planner.wording import enough
from settings.block_storage import BlockStorage


@aws_rule(
    "Z15",
    formula="endsAt, lifecycle.expiry, maxUsd, offHours or blocks is set, or a pool has spot.onDemandMinutes",
    source="Definition of the stack file",
)
def keeper_idle(draft: AwsDraft) -> Iterable[Observation]:
    """The keeper has something to do: an end, a budget, hours off, blocks or pools that fall back on demand.
    Without any it costs and does nothing.
    """
    keeper = draft.settings.keeper
    if is_lab(draft.settings) or any(pool.falls_back for pool in draft.pools.values()):
        return  # lab-without-expiry asks a lab for its end
    if keeper and keeper.off_hours is None and not keeper.blocks and not ends_by_itself(draft.settings):
        yield Observation(
            path="keeper",
            sentence="the keeper has no end to bring about and no off-hours to keep",
            remedy=f'add endsAt: "{draft.today + timedelta(days=1)}T18:00Z", lifecycle.expiry or offHours',
        )


@aws_rule("Z15", formula="endsAt is later than now, and not after the last day", source="Definition of the stack file")
def keeper_over(draft: AwsDraft) -> Iterable[Observation]:
    """A stack whose end has passed would be removed while it is made; one that outlives its tag would be swept."""
    keeper, expiry = draft.settings.keeper, draft.settings.lifecycle.expiry
    ends = keeper.ends_at if keeper else None
    if ends is None:
        return
    if ends <= draft.now:
        yield Observation(
            path="keeper.endsAt",
            sentence=f"the stack ended at {ends:%Y-%m-%d %H:%M} UTC, and the keeper would remove it while it is made",
            remedy=f'set a later moment, such as "{draft.today + timedelta(days=1)}T18:00Z"',
        )
    if expiry and ends > datetime.combine(expiry + timedelta(days=1), time(), UTC):
        yield Observation(
            path="keeper.endsAt",
            sentence=f"{ends:%Y-%m-%d %H:%M} UTC is after the stack's last day, {expiry}",
            remedy=f'set lifecycle.expiry to "{ends.date()}"',
        )


@aws_rule(
    "Z15",
    formula="an end excludes protect, persistent file systems, people's own files and retained volumes",
    source="Definition of the stack file; FSx for Lustre guide, deployment options",
)
def keeper_protected(draft: AwsDraft) -> Iterable[Observation]:
    """A stack that ends by itself holds no data that should last: no lifecycle.protect, no persistent file system."""
    settings = draft.settings
    if not ends_by_itself(settings):
        return
    if settings.lifecycle.protect:
        yield Observation(
            path="keeper",
            sentence="the stack is protected, and its keeper ends it",
            remedy="remove lifecycle.protect, or what says when it ends",
        )
    lustre = settings.storage.lustre
    if lustre.deployment_type != "SCRATCH_2":
        yield Observation(
            path="storage.lustre.deploymentType",
            sentence=f"a {lustre.deployment_type} file system is meant to last, and the stack ends by itself",
            remedy="take SCRATCH_2, keep what lasts in a stack of its own, or remove the keeper",
        )
    if settings.storage.home:
        yield Observation(
            path="storage.home",
            sentence="people's own files are meant to last, and the stack ends by itself",
            remedy="remove storage.home, keep what lasts in a stack of its own, or remove the keeper",
        )
    yield from _retained(settings.storage.block)


def _retained(block: BlockStorage) -> Iterator[Observation]:
    """What stays in EBS, and is paid for, when the stack has ended."""
    kept = {f"classes[{index}].reclaim": each.reclaim for index, each in enumerate(block.classes)}
    for key, reclaim in {**kept, "snapshots": block.snapshots}.items():
        if reclaim == "retain":
            what = "snapshots" if key == "snapshots" else "volumes"
            yield Observation(
                path=f"storage.block.{key}",
                sentence=f"retained {what} are paid for until somebody deletes them, and the stack ends by itself",
                remedy="take delete, keep what lasts in a stack of its own, or remove the keeper",
            )


@aws_rule("Z15", formula="end <= end of the capacity block - 30 min", source="EC2 user guide, Capacity Blocks for ML")
def keeper_beyond_block(draft: AwsDraft) -> Iterable[Observation]:
    """A lab ends no later than its capacity block; after that it pays for everything but the GPUs."""
    ends = end_of(draft.settings) if draft.settings.keeper else None
    for index, pool in enumerate(draft.settings.pools):
        if ends is None or not pool.booked:
            continue
        taken = min(block_times(block.start, block.end).taken for block, _ in pool.booked)
        if ends > taken:
            yield Observation(
                path=f"pools[{index}].reservation" + ("s" if pool.reservations else ".end"),
                sentence=f"AWS takes the nodes of {pool.name} at {taken:%Y-%m-%d %H:%M} UTC, and the stack ends "
                f"{(ends - taken) / timedelta(hours=1):.1f} hours later",
                remedy=f'set keeper.endsAt to "{taken:%Y-%m-%dT%H:%MZ}" or earlier',
                subject=pool.name,
            )


@aws_rule(
    "Z15",
    formula="price of the hours from tomorrow to the end, at least of one hour, <= maxUsd",
    source="Definition of the stack file; AWS price pages",
)
def keeper_budget(draft: AwsDraft) -> Iterable[Observation]:
    """The budget lasts until the lab's end, or the finding says when it runs out. Today's rest is not counted."""
    keeper, prices = draft.settings.keeper, draft.prices
    if keeper is None or keeper.max_usd is None:
        return
    hourly = prices.hourly if prices.listed else prices.hourly_high
    ends, tomorrow = end_of(draft.settings), datetime.combine(draft.today + timedelta(days=1), time(), UTC)
    hours = max(1.0, (ends - tomorrow) / timedelta(hours=1)) if ends else 1.0
    gpus = {name for name, pool in draft.pools.items() if pool.gpus}
    fixed = sum(line.usd_per_hour for line in prices.lines if line.pool not in gpus)
    if keeper.max_usd < fixed * hours:
        sentence = f"{hours:.0f} hours cost {fixed * hours:.2f} USD without any GPU"
    elif keeper.max_usd < hourly * hours:
        sentence = f"{hours:.0f} hours cost {hourly * hours:.2f} USD"
    else:
        return
    yield Observation(
        path="keeper.maxUsd",
        sentence=f"{sentence}, and maxUsd is {keeper.max_usd:.2f}: the stack would end after "
        f"{keeper.max_usd / hourly:.1f} hours",
        remedy=f"raise maxUsd to {enough(hourly * hours)}, end earlier, or take fewer nodes",
        inputs={"hourly": f"{hourly:.2f} USD/h", "hours": f"{hours:.1f}"},
    )


@aws_warning("Z15", formula="a stack with lifecycle.expiry has a keeper", source="Definition of the stack file")
def expiry_without_keeper(draft: AwsDraft) -> Iterable[Observation]:
    """An expiry date alone is a tag and ends nothing; a keeper does."""
    settings = draft.settings
    if settings.lifecycle.expiry and settings.keeper is None:
        yield Observation(
            path="lifecycle.expiry",
            sentence=f"nothing ends the stack after {settings.lifecycle.expiry}: it goes on costing "
            f"{draft.prices.hourly:.2f} USD an hour until somebody destroys it",
            remedy="add keeper: {} to have it end by itself",
        )
