"""Secrets that a stack file's receivers of alerts name: keys of the file that no Pulumi.yaml declares."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

PROJECT = "gpucluster"


def secrets(text: str) -> Sequence[str]:
    """Full keys of the secrets, each once; none where the file has no receivers."""
    config = (yaml.safe_load(text) or {}).get("config") or {}
    section = config.get(f"{PROJECT}:monitoring") or {}
    named = [str(each["secret"]) for each in section.get("receivers") or () if "secret" in each]
    return [f"{PROJECT}:{key}" for key in dict.fromkeys(named)]
