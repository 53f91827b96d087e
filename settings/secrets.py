"""Secrets of a stack file: keys of their own, beside the sections that name them."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from settings.types import Matching

HUB_TOKEN, API_TOKEN = "hfToken", "apiToken"
"""The token for gated models; and the secret that lets callers in where a service names none."""

SecretKey = Annotated[
    str,
    Matching(
        r"[a-z][A-Za-z0-9]{2,39}",
        "the name of a secret of this file, such as slackUrl (letters and digits, a small letter first)",
    ),
    Field(description="key of the stack file that holds it: pulumi config set --secret gpucluster:KEY"),
]


def named_secrets(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The secrets that receivers of alerts and model services name, in sections as they are written."""
    receivers = (each.get("secret") for each in _entries(values, "monitoring", "receivers"))
    services = (each.get("keys") for each in _entries(values, "serving", "services"))
    keys = (key for each in services if isinstance(each, list | tuple) for key in each)
    return tuple(dict.fromkeys(each for each in (*receivers, *keys) if isinstance(each, str)))


def _entries(values: Mapping[str, Any], section: str, key: str) -> Iterable[Mapping[str, Any]]:
    """The mappings in a list of a section; what has another shape is skipped here and explained elsewhere."""
    found = values.get(section)
    listed = found.get(key) if isinstance(found, Mapping) else None
    return [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list | tuple) else ()
