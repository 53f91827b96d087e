"""Refusing a stack before anything is registered: every reason at once, in one message without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import pulumi

from planner.faces.findings import table
from planner.types import Plan
from settings.errors import SettingsError


def accepted(plan: Plan) -> Plan:
    """The plan, if nothing in it forbids deployment; its warnings are shown. Raises RunError with all errors."""
    if plan.errors:
        count = len(plan.errors)
        raise pulumi.RunError(
            f"the planner refuses this stack: {count} finding{'s' if count > 1 else ''}; nothing was registered\n\n"
            + table(plan.errors)
        )
    for finding in plan.warnings:
        pulumi.log.warn(f"{finding}" + (f" [waived: {finding.waiver}]" if finding.waiver else ""))
    return plan


@contextmanager
def refusing() -> Iterator[None]:
    """Turn wrong settings into an error of the program's user, which Pulumi prints as one message."""
    try:
        yield
    except SettingsError as error:
        raise pulumi.RunError(str(error)) from None
