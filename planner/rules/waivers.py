"""How long a waiver may last."""

from collections.abc import Iterable
from datetime import timedelta

from planner.draft import Draft, rule
from planner.findings import Observation

LONGEST = timedelta(days=90)
"""A quarter: somebody looks again, or the waiver is a setting that nobody decided on."""


@rule(
    "I03",
    by_name=True,
    formula="until <= today + 90 days, unless the stack is an example",
    source="NIST SP 800-53 CA-5, RA-3: accepted risks are reviewed; a quarter is this program's choice",
)
def waiver_far(draft: Draft) -> Iterable[Observation]:
    """A waiver ends within 90 days, so that what it accepts is decided again; examples are nobody's stack."""
    if draft.settings.example:
        return
    last = draft.today + LONGEST
    for index, waiver in enumerate(draft.settings.waivers):
        if waiver.until > last:
            yield Observation(
                path=f"waivers[{index}].until",
                sentence=f"the waiver of {waiver.rule} lasts until {waiver.until.isoformat()}, more than 90 days",
                remedy=f"let it end by {last.isoformat()}, and decide again then",
                subject=waiver.rule,
                inputs={"until": waiver.until.isoformat(), "today": draft.today.isoformat()},
            )
