"""JSON Schema of a stack file, for editors: `python -m settings.schema [--check]`."""

import json
import sys
from pathlib import Path
from typing import Any

from settings.errors import NAMESPACE
from settings.load import SECRETS
from settings.model import Settings

SCHEMA_FILE = Path(__file__).with_name("schema.json")


def stack_file_schema() -> dict[str, Any]:
    """The schema of a whole Pulumi.<stack>.yaml; keys of other namespaces below `config:` are anything."""
    settings = Settings.model_json_schema(by_alias=True)
    definitions = settings.pop("$defs")
    sections = {f"{NAMESPACE}:{key}": schema for key, schema in settings["properties"].items()}
    secrets = {
        f"{NAMESPACE}:{key}": {
            "type": "object",
            "properties": {"secure": {"type": "string"}},
            "required": ["secure"],
            "additionalProperties": False,
            "description": f"set it with: pulumi config set --secret {NAMESPACE}:{key}",
        }
        for key in SECRETS
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stack file of gpucluster",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": {"pulumi:disable-default-providers": {"const": ["*"]}, **sections, **secrets},
                "required": [
                    "pulumi:disable-default-providers",
                    *(f"{NAMESPACE}:{key}" for key in settings["required"]),
                ],
                "patternProperties": {f"^(?!{NAMESPACE}:)": {}},
                "additionalProperties": False,
            },
            "encryptionsalt": {"type": "string"},
            "encryptedkey": {"type": "string"},
            "secretsprovider": {"type": "string"},
            "environment": {},
        },
        "required": ["config"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def main(arguments: list[str]) -> int:
    """Write the schema; with --check, only say whether the committed one is fresh (0) or not (1)."""
    text = json.dumps(stack_file_schema(), indent=2, ensure_ascii=False) + "\n"
    if arguments == ["--check"]:
        if SCHEMA_FILE.exists() and SCHEMA_FILE.read_text(encoding="utf-8") == text:
            return 0
        print("settings/schema.json is not what settings/model.py says; type: python -m settings.schema")
        return 1
    if arguments:
        print("usage: python -m settings.schema [--check]")
        return 2
    SCHEMA_FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
