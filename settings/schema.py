"""JSON Schema of a stack file, for editors: `python -m settings.schema [--check]`."""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel
from pydantic.json_schema import models_json_schema

from catalogue.instances import INSTANCES
from catalogue.models import MODELS
from catalogue.servers import SERVERS
from catalogue.storage_servers import STORAGE_SERVERS
from catalogue.switches import SWITCHES
from settings.errors import NAMESPACE
from settings.load import SECRETS
from settings.model import PLATFORMS
from settings.presets import preset, preset_names
from settings.words import EXAMPLES, WORDS

SCHEMA_FILE = Path(__file__).with_name("schema.json")

_NO_DEFAULT_PROVIDERS = "pulumi:disable-default-providers"
_PRESET = f"{NAMESPACE}:preset"
_PARTIAL = "Partial"


def stack_file_schema() -> dict[str, Any]:
    """The schema of a whole Pulumi.<stack>.yaml; keys of other namespaces below `config:` are anything.

    `platform.kind` decides between the platforms. With a preset, the file may leave out what the preset says.
    """
    _, below = models_json_schema([(model, "validation") for model in PLATFORMS.values()], by_alias=True)
    definitions = below["$defs"]
    _describe(definitions)
    kinds = {kind: definitions.pop(model.__name__) for kind, model in PLATFORMS.items()}
    whole = {kind: _config(schema) for kind, schema in kinds.items()}
    partial = {f"{kind}{_PARTIAL}": _config(_partial(schema)) for kind, schema in kinds.items()}
    parts = {f"{name}{_PARTIAL}": _partial(schema) for name, schema in definitions.items()}
    metal_presets = [name for name in preset_names() if preset(name)["platform"]["kind"] == "metal"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stack file of gpucluster",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "if": {"required": [_PRESET]},
                "then": {
                    "properties": {_PRESET: {"enum": preset_names()}},
                    **_choice({_PRESET: {"enum": metal_presets}}, f"metal{_PARTIAL}", f"aws{_PARTIAL}"),
                },
                "else": _choice({f"{NAMESPACE}:platform": _OF_METAL}, "metal", "aws"),
            },
            "encryptionsalt": {"type": "string"},
            "encryptedkey": {"type": "string"},
            "secretsprovider": {"type": "string"},
            "environment": {},
        },
        "required": ["config"],
        "additionalProperties": False,
        "$defs": {**definitions, **parts, **whole, **partial},
    }


def _describe(definitions: dict[str, Any]) -> None:
    """Give every property its sentence, its example and the catalogue's names, and take the titles that pydantic makes.

    A name of the catalogue is offered, not demanded: a stack file may add rows of its own.
    """
    for section, schema in definitions.items():
        schema.pop("title", None)
        if "description" in schema:
            schema["description"] = _for_users(schema["description"])
        for key, described in schema.get("properties", {}).items():
            described.pop("title", None)
            name = f"{'config' if section in _WHOLE else section}.{key}"
            if said := described.get("description") or WORDS.get(name):
                described["description"] = _for_users(said)
            if name in EXAMPLES:
                described["examples"] = [EXAMPLES[name]]
            if name in NAMES:
                plain = {each: described.pop(each) for each in ("type", "pattern", "minLength") if each in described}
                others = described.pop("anyOf", [plain])
                described["anyOf"] = [{"enum": sorted(NAMES[name])}, *others]


def _for_users(text: str) -> str:
    """A sentence in the words of a stack file: keys in camelCase, and what is left out in place of None."""
    return re.sub(r"`([a-z]+(?:_[a-z]+)+)`", lambda found: f"`{to_camel(found[1])}`", text).replace("None", "left out")


_WHOLE = {model.__name__ for model in PLATFORMS.values()}

NAMES: Mapping[str, Iterable[str]] = {
    "AwsPool.instanceType": INSTANCES,
    "MetalPool.server": SERVERS,
    "FabricSection.switch": SWITCHES,
    "MetalLustre.server": STORAGE_SERVERS,
    "MetalLustre.mdsServer": STORAGE_SERVERS,
    "Ceph.server": STORAGE_SERVERS,
    "Service.model": MODELS,
    "Adapter.base": MODELS,
    "TrainingRun.model": MODELS,
}
"""Keys that name a row of the catalogue, and the rows that an editor offers."""

_OF_METAL = {"properties": {"kind": {"const": "metal"}}, "required": ["kind"]}


def _choice(properties: dict[str, Any], yes: str, no: str) -> dict[str, Any]:
    """One definition where the properties match, the other where they do not."""
    condition = {"properties": properties, "required": list(properties)}
    return {"if": condition, "then": {"$ref": f"#/$defs/{yes}"}, "else": {"$ref": f"#/$defs/{no}"}}


def _config(settings: dict[str, Any]) -> dict[str, Any]:
    """What may stand below `config:` where the sections are those of `settings`."""
    secrets = {f"{NAMESPACE}:{key}": _secret(key) for key in SECRETS}
    sections = {f"{NAMESPACE}:{key}": schema for key, schema in settings["properties"].items()}
    return {
        "type": "object",
        "properties": {
            _NO_DEFAULT_PROVIDERS: {"const": ["*"], "description": WORDS[f"config.{_NO_DEFAULT_PROVIDERS}"]},
            **sections,
            **secrets,
        },
        "required": [_NO_DEFAULT_PROVIDERS, *(f"{NAMESPACE}:{key}" for key in settings.get("required", ()))],
        "patternProperties": {
            f"^(?!{NAMESPACE}:|aws:)": {},
            # What receivers of alerts name: no schema can compare two places of a file.
            f"^{NAMESPACE}:(?!({'|'.join((*settings['properties'], *SECRETS))})$)[a-z][A-Za-z0-9]{{2,39}}$": _secret(
                "KEY"
            ),
        },
        "additionalProperties": False,
    }


def _secret(key: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"secure": {"type": "string"}},
        "required": ["secure"],
        "additionalProperties": False,
        "description": f"set it with: pulumi config set --secret {NAMESPACE}:{key}",
    }


def _partial(schema: Any) -> Any:
    """A schema without required keys, down to the lists: those replace a preset's as a whole, so they are complete."""
    if isinstance(schema, list):
        return [_partial(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: f"{value}{_PARTIAL}" if key == "$ref" else value if key in ("items", "prefixItems") else _partial(value)
        for key, value in schema.items()
        if key != "required"
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
