"""Committed stack files, and the real program run on them or on any settings."""

import json
import runpy
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pulumi
import pytest
import yaml

from settings.load import from_file, stack_secrets
from settings.model import AwsSettings
from tests.graph.harness import Recorded, RecordingMonitor, config_of, record

ROOT = Path(__file__).resolve().parents[2]
SECRETS = {
    "gpucluster:hfToken": "hf-secret-for-tests",
    "gpucluster:apiToken": "api-secret-for-tests",
}


SHIPPED = ("dev", "lab", "metal", "prod")
"""Stacks of which the tests know what they come to. A stack that a user adds beside them is nobody's fixture."""

every_shipped = pytest.mark.parametrize("stack", SHIPPED)


def stack_names() -> list[str]:
    """Shipped stacks on AWS."""
    return [name for name in SHIPPED if isinstance(from_file(ROOT / f"Pulumi.{name}.yaml"), AwsSettings)]


def stack_config(stack: str) -> dict[str, Any]:
    """What stands below `config:` in the stack's file."""
    config: dict[str, Any] = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())["config"]
    return config


def secrets_of(config: Mapping[str, Any]) -> dict[str, str]:
    """The secrets of a stack: those of every stack, and those that its sections name, but for what is kept outside."""
    sections = {key.partition(":")[2]: value for key, value in config.items()}
    kept = {f"gpucluster:{key}" for key in (sections.get("externalSecrets") or {}).get("secrets", ())}
    named = {f"gpucluster:{key}": f"{key}-secret-for-tests-long-enough" for key in stack_secrets(sections)}
    return {key: value for key, value in (SECRETS | named).items() if key not in kept}


def run_program(config: Mapping[str, Any], *, stack: str, preview: bool = False) -> Recorded:
    """Run the real `__main__.py` with this configuration, and with the secrets that it does not give in clear."""
    secrets = secrets_of(config)
    graph = record(
        lambda: runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__"),
        stack=stack,
        config=config_of({**secrets, **config}),
        secrets=tuple(key for key in secrets if key not in config),
        preview=preview,
    )
    lifecycle, waivers = config.get("gpucluster:lifecycle", {}), config.get("gpucluster:waivers", [])
    graph.protected = lifecycle.get("protect", False)
    graph.waived_images = frozenset(each["subject"] for each in waivers if each["rule"] == "image-not-pinned")
    graph.fed_autoscalers = frozenset(each.get("subject", "") for each in waivers if each["rule"] == "autoscaler-unfed")
    graph.secrets = tuple(secrets.values())
    return graph


def told(stack: str) -> Recorded:
    """What a command shows of a stack's file; it knows no secret that is sealed there.

    Prints why the program refuses its settings, and raises SystemExit of 1.
    """
    config = {key: value for key, value in stack_config(stack).items() if not _is_sealed(value)}
    said: list[str] = []
    try:
        with patch.object(pulumi.log, "error", said.append):
            return run_program(config, stack=stack)
    except SystemExit:
        print("\n".join(said), file=sys.stderr)
        raise SystemExit(1) from None


def _is_sealed(value: object) -> bool:
    return isinstance(value, dict) and "secure" in value


def refusal(config: Mapping[str, Any], *, stack: str) -> str:
    """What the program says of a configuration that it refuses. Fails if it registers anything, or says more.

    The exit code tells the language host that the reason has been told (LF26).
    """
    said: list[str] = []
    registered: list[str] = []
    with (
        patch.object(pulumi.log, "error", said.append),
        patch.object(RecordingMonitor, "_keep", lambda _, urn, *__: registered.append(urn)),
        pytest.raises(SystemExit) as ended,
    ):
        run_program(config, stack=stack)
    assert (ended.value.code, registered, len(said)) == (32, [], 1)
    return said[0]


def registered(config: Mapping[str, Any], *, stack: str) -> Recorded:
    """What a configuration registers. The last few are kept, so tests only look at it, and none of them patches."""
    return _kept(json.dumps(config), stack)


@lru_cache(maxsize=8)
def _kept(config: str, stack: str) -> Recorded:
    return run_program(json.loads(config), stack=stack)


@cache
def graph_of(stack: str, preview: bool = False) -> Recorded:
    """What a committed stack registers. Cached: tests only look at it."""
    return run_program(stack_config(stack), stack=stack, preview=preview)
