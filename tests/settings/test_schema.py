"""The committed JSON Schema and its use by editors."""

import json
from pathlib import Path

import pytest
import yaml

from settings import schema
from tests.settings.editor import accepts

ROOT = Path(__file__).parents[2]
SHAPE_ERRORS = (
    "count-negative",
    "count-missing",
    "role-misspelt",
    "efa-count-is-not-a-parameter",
    "section-misspelt",
    "platform-kind-unknown",
    "one-zone",
    "zone-name-instead-of-id",
    "secret-in-clear",
    "settings-beside-config",
    "default-providers-on",
    "weights-not-s3",
)


def test_schema_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    """The committed file is what the models say."""
    assert schema.main(["--check"]) == 0, capsys.readouterr().out


def test_stale_schema_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--check fails on any difference, and writing repairs it."""
    monkeypatch.setattr(schema, "SCHEMA_FILE", tmp_path / "schema.json")
    assert schema.main(["--check"]) == 1
    assert schema.main([]) == 0
    assert schema.main(["--check"]) == 0


def test_editor_maps_stack_files_to_the_schema() -> None:
    """Editors find the schema for every committed stack file."""
    mapping = json.loads((ROOT / ".vscode" / "settings.json").read_text(encoding="utf-8"))["yaml.schemas"]
    assert "Pulumi.*.yaml" in mapping["settings/schema.json"]
    assert (ROOT / "settings" / "schema.json").exists()


@pytest.mark.parametrize("name", SHAPE_ERRORS)
def test_editor_already_sees_shape_errors(name: str) -> None:
    """What is wrong with a value by itself shows while typing."""
    text = (Path(__file__).parent / "corpus" / "bad" / f"{name}.yaml").read_text(encoding="utf-8")
    assert not accepts(yaml.safe_load(text))
