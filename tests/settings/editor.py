"""What an editor says of a stack file: the committed schema, compiled once."""

import json
from functools import cache
from typing import Any

import jsonschema_rs

from settings.schema import SCHEMA_FILE


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8")))


def accepts(stack_file: Any) -> bool:
    """Whether nothing would be underlined."""
    return bool(_validator().is_valid(stack_file))
