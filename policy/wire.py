"""Provider inputs as the engine sends them."""

import json
from collections.abc import Mapping
from typing import Any


def provider_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of a provider, which travel as JSON texts; its version is the plugin's, and no input."""
    return {key: _from_json(value) for key, value in inputs.items() if key != "version"}


def _from_json(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in "{[tf" else value
    except ValueError:
        return value
