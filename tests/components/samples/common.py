"""What samples of all areas share, and a way to look at what one registers."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import pulumi
import pulumi_aws as aws
import pulumi_command as command
import pulumi_kubernetes as k8s

from components.storage.aws_cli import AwsCli
from tests.graph.harness import Recorded, record

Options = pulumi.ResourceOptions
Make = Callable[[Options], pulumi.Resource]
CLI = AwsCli(image="aws-cli:2")

Args = TypeVar("Args")

_current: dict[str, pulumi.ProviderResource] = {}


def of(component: Callable[[str, Args, Options], pulumi.Resource], args: Callable[[], Args]) -> Make:
    """One called `sample`; its arguments are made while the program runs, as some are resources."""
    return lambda opts: component("sample", args(), opts)


def done(name: str = "before") -> pulumi.Resource:
    """Something to come after."""
    return k8s.core.v1.Namespace(name, k8s.core.v1.NamespaceInitArgs(), Options(provider=_current["kubernetes"]))


def built(make: Make, *, preview: bool = False, stack: str = "lab", **options: Any) -> Recorded:
    """What the component registers, with providers of both platforms and the caller's `options`."""
    return _built(make, preview, stack, options) if options else _built_plainly(make, preview, stack)


@cache
def _built_plainly(make: Make, preview: bool, stack: str) -> Recorded:
    """Without further options a sample is always the same, and tests only look at it."""
    return _built(make, preview, stack, {})


def _built(make: Make, preview: bool, stack: str, options: Mapping[str, Any]) -> Recorded:
    def program() -> None:
        _current["aws"] = aws.Provider("aws", region="us-east-2")
        _current["command"] = command.Provider("command")
        _current["kubernetes"] = k8s.Provider("kubernetes", kubeconfig="{}")
        make(Options(providers=list(_current.values()), **options))

    return record(program, stack=stack, preview=preview)
