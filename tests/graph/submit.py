"""`python -m tests.graph.submit STACK RUN [--out FILE]`: a run's job as YAML, for `kubectl create -f -`.

It is the object that the stack registers, with a name of its own and without what is Pulumi's, so that it waits in the
same queue with the same rights, volumes and environment. The program runs as in the tests of this directory, without an
engine. Ends with 1 if the program refuses its settings, 2 if there is no such stack or run.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pulumi
import yaml

from catalogue.echo import bare
from policy.graph import Graph
from tests.graph.schema_kubernetes import manifest
from tests.graph.stackfiles import ROOT, stack_config, told

KIND = "PyTorchJob"
_PULUMI = "pulumi.com/"


RECORDED = "123456789012"
"""The account in which the tests' provider makes things; a bucket's name ends with it."""


class UnknownAccountError(Exception):
    """The job names something of the account, and nobody says which that is; the message says where to type it."""


class NoSuchRunError(Exception):
    """The stack has no run of that name; the message says which it has."""


def job(graph: Graph, run: str, account: str | None = RECORDED) -> dict[str, Any]:
    """The job of a run as `kubectl create` takes it, in an account. Raises NoSuchRunError, UnknownAccountError."""
    jobs = {each.inputs["metadata"]["name"]: each for each in graph.resources.values() if each.kind == KIND}
    if run not in jobs:
        raise NoSuchRunError(f"the stack has no run {run!r}; it has {', '.join(sorted(jobs)) or 'none'}")
    found = manifest(jobs[run])
    meta = {key: value for key, value in found["metadata"].items() if key not in ("name", "annotations")}
    annotations = {
        key: value for key, value in (found["metadata"].get("annotations") or {}).items() if not key.startswith(_PULUMI)
    }
    meta |= {"generateName": f"{run}-", **({"annotations": annotations} if annotations else {})}
    if account is None and RECORDED in str(found["spec"]):
        raise UnknownAccountError(
            f"run {run} uses a bucket whose name ends with your account's 12 digits: type ACCOUNT=…, or "
            "accountId in gpucluster:platform"
        )
    spec = _moved(found["spec"], account or RECORDED)
    return {"apiVersion": found["apiVersion"], "kind": KIND, "metadata": meta, "spec": spec}


def _moved(value: Any, account: str) -> Any:
    """The same in another account."""
    if isinstance(value, Mapping):
        return {key: _moved(each, account) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, account) for each in value]
    return value.replace(RECORDED, account) if isinstance(value, str) else value


def text(found: Mapping[str, Any], stack: str, run: str) -> str:
    """The YAML, with how it is sent."""
    head = (
        f"# Run {run} of stack {stack}, for `kubectl create -f FILE`: each time another job, in the same queue.\n"
        "# It saves where the stack's own run of this name saves: let one of them write at a time.\n"
    )
    return head + yaml.safe_dump(dict(found), sort_keys=False, width=120)


def main(arguments: Sequence[str]) -> int:
    """Print the job, or write it."""
    parser = argparse.ArgumentParser(prog="make submit", usage="make submit STACK=dev RUN=name [OUT=file]")
    parser.add_argument("stack")
    parser.add_argument("run")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--account", type=_digits, help="the AWS account, where the stack file does not name it")
    options = parser.parse_args(arguments)
    if not (ROOT / f"Pulumi.{options.stack}.yaml").is_file():
        print(f"there is no Pulumi.{options.stack}.yaml in this directory", file=sys.stderr)
        return 2
    account = options.account or stack_config(options.stack).get("gpucluster:platform", {}).get("accountId")
    try:
        with patch.object(pulumi.log, "warn"):
            found = job(told(options.stack), options.run, account)
    except NoSuchRunError as error:
        print(f"{error}; type: make submit STACK={options.stack} RUN=NAME", file=sys.stderr)
        return 2
    except UnknownAccountError as error:
        print(error, file=sys.stderr)
        return 2
    written = text(found, options.stack, options.run)
    if options.out is None:
        print(written, end="")
        return 0
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(written, encoding="utf-8")
    except OSError as error:
        print(f"{bare(options.out)}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{options.out}: type: kubectl create -f {options.out}")
    return 0


def _digits(text: str) -> str:
    """An account's number, for argparse."""
    if len(text) != 12 or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no AWS account: type its 12 digits")
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
