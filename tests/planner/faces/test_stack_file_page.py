"""The reference of the stack file: every key described, no sentence for a key that there is not (B2 of a newcomer)."""

import json
import re
from pathlib import Path

import pytest

from catalogue.instances import INSTANCES
from catalogue.models import MODELS
from planner.faces import catalogue_pages, stack_file_page
from settings.schema import SCHEMA_FILE
from settings.words import EXAMPLES, WORDS
from tests.settings.editor import accepts
from tests.settings.test_load import ROOT

SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["$defs"]
KEYS = {
    f"{section}.{key}": described
    for section, schema in SCHEMA.items()
    if not section.endswith(("Row", "Part", "Partial"))
    for key, described in schema.get("properties", {}).items()
}
"""Keys of the stack file but those of a site's own rows, which are the catalogue's."""


def test_every_key_has_a_sentence() -> None:
    """Counted, so that nothing is lost by leaving sections out; editors show no titles that machines made."""
    assert len(KEYS) >= 250
    assert [name for name, described in KEYS.items() if len(described.get("description", "")) < 6] == []
    assert [name for name, described in KEYS.items() if re.search(r"None|`\w+_\w+`", described["description"])] == []
    assert [name for name, described in KEYS.items() if "title" in described] == []


def test_sentences_and_examples_are_of_keys_that_there_are() -> None:
    sections = {re.sub(r"^(aws|metal)\.(gpucluster:)?", "config.", name) for name in KEYS}
    assert [name for name in (*WORDS, *EXAMPLES) if name not in sections] == []


def test_every_key_stands_on_the_page() -> None:
    page = stack_file_page.page()
    shown = {name.rpartition(".")[2].removeprefix("gpucluster:") for name in KEYS} - {"hfToken", "apiToken"}
    assert [key for key in sorted(shown) if f"| `{key}` |" not in page] == []
    assert "| `instanceType` |" in page
    assert "Example: `p5.48xlarge`" in page


@pytest.mark.parametrize(
    ("path", "names"), [("AwsPool.instanceType", INSTANCES), ("TrainingRun.model", MODELS), ("Service.model", MODELS)]
)
def test_an_editor_offers_the_catalogue_and_takes_a_name_of_ones_own(path: str, names: dict[str, object]) -> None:
    offered, *others = KEYS[path]["anyOf"]
    assert offered["enum"] == sorted(names)
    assert {"type": "string"} in others


def test_a_row_of_ones_own_is_no_error_in_an_editor() -> None:
    import yaml

    content = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    content["config"]["gpucluster:pools"][1]["instanceType"] = "x9.huge"
    assert accepts(content)


def test_pages_of_names_have_every_row() -> None:
    assert [name for name in INSTANCES if f"| `{name}` |" not in catalogue_pages.instances()] == []
    assert [name for name in MODELS if f"| `{name}` |" not in catalogue_pages.models()] == []


def test_links_between_pages_lead_somewhere() -> None:
    pages = Path(ROOT / "docs" / "reference")
    text = stack_file_page.page()
    anchors = {heading.lower() for heading in re.findall(r"^### (\S+)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", text)) <= anchors
    assert all((pages / name).is_file() for name in re.findall(r"\]\((\w[\w.-]*\.md)\)", text))
