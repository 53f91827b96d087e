"""What an editor says of a stack file: the committed schema, compiled once."""

import json
from functools import cache
from typing import Any

import jsonschema

from settings.schema import SCHEMA_FILE


@cache
def _validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def accepts(stack_file: Any) -> bool:
    """Whether nothing would be underlined."""
    return bool(_validator().is_valid(stack_file))
