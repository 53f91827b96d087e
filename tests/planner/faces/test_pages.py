"""Pages that are written from the program."""

import csv
import json
import re
from pathlib import Path

import pytest

from catalogue.instances import INSTANCES
from catalogue.models import MODELS
from planner.draft import registry
from planner.faces import catalogue_pages, codes_page, rules_page, stack_file_page
from planner.faces.sizing_page import LAB, page
from planner.plan import AwsPlan, plan
from settings.load import from_sections
from settings.presets import preset
from settings.schema import SCHEMA_FILE
from settings.words import EXAMPLES, WORDS
from tests.planner.stacks import ROOT, TODAY
from tests.settings.editor import accepts


def test_every_code_has_a_meaning() -> None:
    with (ROOT / "docs" / "reference" / "corrections.csv").open(encoding="utf-8") as file:
        corrections = {row["id"] for row in csv.DictReader(file)}
    guards = {code for rule in registry.rules for code in rule.guards}
    known = {**codes_page.CORRECTIONS, **codes_page.REQUIREMENTS, **codes_page.LIFE}
    assert [code for code in sorted(corrections | guards) if code.rstrip("0123456789") not in known] == []


def test_a_code_leads_to_its_rules_there_and_nowhere_else() -> None:
    (rule,) = [each for each in registry.rules if each.id == "gang-fits-pool"]
    lines = codes_page.page().splitlines()
    for code in rule.guards:
        (line,) = [each for each in lines if each.startswith(f"| {code} |")]
        assert "`gang-fits-pool`" in line
    (row,) = [each for each in rules_page.page().splitlines() if each.startswith("| `gang-fits-pool`")]
    assert not any(f"| {code}" in row or f", {code}" in row for code in rule.guards)


OWNER = {"example": True, "lifecycle": {"owner": "nobody", "costCentre": "none"}}


def test_the_lab_of_the_page_is_the_shipped_one() -> None:
    """C14: machines, capacity, file system and GPUs of the preset, and a price that its own budget allows."""
    sections = preset(LAB)
    lines = page().splitlines()
    (said,) = (line for line in lines if f"preset `{LAB}`" in line)
    for pool in sections["pools"]:
        assert f"{pool['count']} {pool['instanceType']} ({pool.get('capacity', 'on-demand')})" in said
    assert f"{sections['storage']['lustre']['capacityGib']} GiB" in said
    (row,) = (line.split(" | ") for line in lines if line.startswith("| cloud |"))
    planned = plan(from_sections({"preset": LAB, **OWNER}), today=TODAY)
    assert row[2] == str(planned.totals.gpus)
    assert isinstance(planned, AwsPlan)
    low, _, high = row[4].partition(" to ")
    assert float(low) < sections["budget"]["maxHourlyUsd"]
    assert float(high) > planned.prices.hourly * 0.9


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
