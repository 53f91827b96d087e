"""`python -m doctor --stack dev`: catalogue and stack beside the real account, or the on-premises machines.

1 if a check fails, 2 on wrong usage, 3 if the account, or every machine, answered nothing.
"""

import argparse
import json
import logging
import sys
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

from doctor.account import Account
from doctor.case import Case
from doctor.examination import FAILED, SILENT, examine, exit_code
from doctor.fabric import examination as fabric
from doctor.fabric.asking import ask, saved
from doctor.machines import comparing, controllers
from doctor.machines.reading import Ssh
from doctor.report import as_json, as_table, listed, table
from doctor.results import Status
from oob.site import password
from planner.fabric.plan import on_fabric
from planner.metal_types import MetalPlan
from planner.plan import plan
from planner.types import AwsPlan, Plan
from settings.errors import SettingsError
from settings.load import from_file
from settings.model import AwsSettings
from settings.stackfile import parse


def main(arguments: list[str]) -> int:
    """Examine one stack and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m doctor", description=__doc__)
    parser.add_argument("--stack", required=True, help="the stack whose Pulumi.<stack>.yaml is examined")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="a table, or JSON for programs")
    parser.add_argument("--address", type=_address, help="the public IPv4 address that you deploy from")
    parser.add_argument("--registries", action="store_true", help="also query the images' registries")
    parser.add_argument("--key", type=Path, help="SSH private key for the machines (default: those that ssh finds)")
    parser.add_argument("--fabric", type=Path, help="a saved report of ibnetdiscover: no machine is contacted")
    parser.add_argument("--errors", type=Path, help="with it, a saved report of ibqueryerrors")
    options = parser.parse_args(arguments)
    file = Path(f"Pulumi.{options.stack}.yaml")
    try:
        settings, project = from_file(file), str(parse(Path("Pulumi.yaml"))["name"])
    except OSError as error:
        print(f"{error.filename}: {error.strerror}; name a stack whose file is in this directory", file=sys.stderr)
        return 2
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    now = datetime.now(UTC)
    planned = plan(settings, today=now.date())
    if not isinstance(settings, AwsSettings) or not isinstance(planned, AwsPlan):
        return _machines(options, file, planned)
    case = Case(
        project=project,
        stack=options.stack,
        settings=settings,
        plan=planned,
        now=now,
        address=options.address,
        registries=options.registries,
    )
    results = examine(case, Account(settings.platform, parameters=case.parameters))
    print(json.dumps(as_json(case, results), indent=2) if options.format == "json" else as_table(case, results))
    return exit_code(results)


def _machines(options: argparse.Namespace, file: Path, planned: Plan) -> int:
    """The same of on-premises machines, and of the fabric between them."""
    if not isinstance(planned, MetalPlan) or (planned.site is None and options.fabric is None):
        print(f"{file}: it has no gpucluster:inventory, so there are no machines to check", file=sys.stderr)
        return 2
    if options.fabric is not None:
        try:
            results = fabric.examine(planned, saved(options.fabric, options.errors))
        except OSError as error:
            print(f"{error.filename}: {error.strerror}", file=sys.stderr)
            return 2
        if not results:
            print(f"{file}: it has no InfiniBand fabric whose cables could be compared", file=sys.stderr)
            return 2
    elif planned.site is not None:
        ssh, site = Ssh(options.key), planned.site
        results = comparing.examine(planned, site, ssh.ask)
        logging.getLogger("sushy").addHandler(logging.NullHandler())
        if not comparing.nothing_answered(results):
            on = [host for pool in on_fabric(planned.pools.values()) for host in site.of_pool(pool.name)]
            results += fabric.examine(planned, ask(site, on, ssh.run))
        results = (*results, *controllers.examine(planned, site, password()))
    about = planned.site.name if planned.site else "its site"
    if options.format == "json":
        print(json.dumps({"stack": options.stack, "site": about} | listed(results), indent=2))
    else:
        print(table(f"{options.stack} at {about}", results))
    if any(each.status is Status.FAIL for each in results):
        return FAILED
    if comparing.nothing_answered(results):
        print("nothing was checked: no machine could be reached", file=sys.stderr)
        return SILENT
    return 0


def _address(text: str) -> str:
    """An IPv4 address, which argparse names if it is none."""
    return str(IPv4Address(text))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
