"""`python -m planner --stack dev`: the plan and its findings, without Pulumi. Exit 1 if an error stands."""

import argparse
import json
import sys
from pathlib import Path

from planner.plan import plan
from planner.report import numbers, table
from settings.errors import SettingsError
from settings.load import from_file


def main(arguments: list[str]) -> int:
    """Print numbers, then findings."""
    parser = argparse.ArgumentParser(prog="python -m planner")
    parser.add_argument("--stack", required=True, help="the stack whose Pulumi.<stack>.yaml is planned")
    file = Path(f"Pulumi.{parser.parse_args(arguments).stack}.yaml")
    try:
        planned = plan(from_file(file))
    except OSError as error:
        print(f"{file}: {error.strerror}; name a stack whose file is in this directory", file=sys.stderr)
        return 1
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    shown = numbers(planned)
    del shown["findings"]
    print(json.dumps(shown, indent=2))
    print(table(planned.findings), end="")
    return 1 if planned.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
