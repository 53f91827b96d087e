"""`python -m smoke --stack dev --budget 30`: try a stack on the real account, cheapest part first, and tear it down.

0 if every stage stood and nothing is left, 1 if a stage failed, 2 on wrong usage or refusal. What was begun is torn
down.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from settings.errors import SettingsError
from settings.load import sections_in
from settings.stackfile import parse
from smoke.engine import Failed, Pulumi, held_by
from smoke.stages import LEAVING_HOURS, Refused, Stage, stages, worst_usd


def main(arguments: Sequence[str]) -> int:
    """Try one stack."""
    parser = argparse.ArgumentParser(prog="python -m smoke", description=__doc__)
    parser.add_argument("--stack", required=True, help="the stack to try; it must be empty and may not be protected")
    parser.add_argument("--budget", required=True, type=float, metavar="USD", help="the most that it may cost")
    parser.add_argument("--hours", type=float, default=2.0, help="after these, everything is destroyed")
    options = parser.parse_args(arguments)
    file = Path(f"Pulumi.{options.stack}.yaml")
    try:
        content = parse(file)
        tried = stages(content.get("config") or {}, sections_in(file), datetime.now(UTC).date())
        _within(worst_usd(tried, options.hours), options.budget, options.hours)
        if held := held_by(options.stack):
            raise Refused(f"the stack holds {held} resources, which the tear-down would delete; use an empty stack")
    except (OSError, SettingsError, Refused, Failed) as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 2
    for each in tried:
        print(f"{each.name}: {each.usd_per_hour:.2f} USD an hour; shows {each.proves}")
    if subprocess.run([sys.executable, "-m", "doctor", "--stack", options.stack], check=False).returncode:
        print("the doctor's findings are above; nothing was created", file=sys.stderr)
        return 1
    beside = {key: value for key, value in content.items() if key != "config"}
    with tempfile.TemporaryDirectory(prefix="gpucluster-smoke-") as directory:
        return _try(Pulumi(options.stack, Path(directory), beside), tried, options.hours)


def _within(worst: float, budget: float, hours: float) -> None:
    if worst > budget:
        raise Refused(
            f"{hours:g} h and {LEAVING_HOURS:g} h of tear-down may cost {worst:.2f} USD, and the budget is "
            f"{budget:.2f}; use a smaller stack, fewer --hours, or a larger --budget"
        )


def _try(pulumi: Pulumi, tried: Sequence[Stage], hours: float) -> int:
    """Every stage until one fails or the hours are over; then everything is deleted, whatever happened."""
    end, stood = time.monotonic() + hours * 3600, 0
    try:
        for each in tried:
            print(f"\n== {each.name}: {each.proves}", flush=True)
            pulumi.up(each.name, each.config, max(end - time.monotonic(), 1.0))
            stood += 1
    except Failed as error:
        print(f"{each.name}: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"{each.name}: interrupted", file=sys.stderr)
    finally:
        left = _torn_down(pulumi)
    print(f"\n{stood} of {len(tried)} stages stood; {'SOMETHING IS LEFT' if left else 'nothing is left in the state'}")
    return 0 if stood == len(tried) and not left else 1


def _torn_down(pulumi: Pulumi) -> bool:
    """Delete, and once more what failed: AWS lets go of interfaces late. True if something is left."""
    print("\n== tearing down", flush=True)
    for _ in range(2):
        try:
            pulumi.destroy()
        except Failed as error:
            print(f"destroy: {error}", file=sys.stderr)
        else:
            return False
    print(f"what is left costs money: make undeploy STACK={pulumi.stack}", file=sys.stderr)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
