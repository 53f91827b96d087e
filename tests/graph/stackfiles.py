"""Committed stack files, and the real program run on them or on any settings."""

import runpy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from settings.load import from_file
from settings.model import AwsSettings
from tests.graph.harness import Recorded, config_of, record

ROOT = Path(__file__).resolve().parents[2]
SECRETS = {"gpucluster:hfToken": "hf-secret-for-tests", "gpucluster:apiToken": "api-secret-for-tests"}


def stack_names() -> list[str]:
    """Stacks with a committed file that can be deployed. Those on metal register nothing: they are planned only."""
    files = (path for path in ROOT.glob("Pulumi.*.yaml") if isinstance(from_file(path), AwsSettings))
    return sorted(path.name.split(".")[1] for path in files)


def stack_config(stack: str) -> dict[str, Any]:
    """What stands below `config:` in the stack's file."""
    config: dict[str, Any] = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())["config"]
    return config


def run_program(config: Mapping[str, Any], *, stack: str, preview: bool = False) -> Recorded:
    """Run the real `__main__.py` with this configuration, and with the secrets that it does not give in clear."""
    graph = record(
        lambda: runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__"),
        stack=stack,
        config=config_of({**SECRETS, **config}),
        secrets=tuple(key for key in SECRETS if key not in config),
        preview=preview,
    )
    lifecycle, waivers = config.get("gpucluster:lifecycle", {}), config.get("gpucluster:waivers", [])
    graph.protected = lifecycle.get("protect", False)
    graph.waived_images = frozenset(each["subject"] for each in waivers if each["rule"] == "image-not-pinned")
    graph.secrets = tuple(SECRETS.values())
    return graph


@cache
def graph_of(stack: str, preview: bool = False) -> Recorded:
    """What a committed stack registers. Cached: tests only look at it."""
    return run_program(stack_config(stack), stack=stack, preview=preview)
