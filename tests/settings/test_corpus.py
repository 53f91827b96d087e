"""Stack files that load and plan, and stack files that do not, each with the sentence a person reads."""

from datetime import date
from pathlib import Path

import pytest
import yaml

from planner.plan import plan
from settings.errors import SettingsError
from settings.load import from_file
from tests.settings.editor import accepts

CORPUS = Path(__file__).parent / "corpus"
GOOD = sorted((CORPUS / "good").glob("*.yaml"))
BAD = sorted((CORPUS / "bad").glob("*.yaml"))
TODAY = date(2026, 11, 21)
SAYS = "# says: "
WARNS = "# warns: "


def _name(path: Path) -> str:
    return path.stem


def _head(path: Path, begin: str) -> list[str]:
    """What the lines of a file's head say after `begin`."""
    return [line.removeprefix(begin) for line in path.read_text("utf-8").splitlines() if line.startswith(begin)]


def test_corpus_is_as_large_as_promised() -> None:
    """Q01-Q06, A08: at least 18 good files and 90 bad ones, none of them without its sentence; metal among both."""
    assert len(GOOD) >= 18
    assert len(BAD) >= 90
    assert sum(path.stem.startswith("metal-") for path in BAD) >= 30
    assert all(path.read_text(encoding="utf-8").startswith(SAYS) for path in BAD)


@pytest.mark.parametrize("path", GOOD, ids=_name)
def test_good_file_loads_and_plans_without_an_error(path: Path) -> None:
    """Z16: what the schema promises an editor, the loader accepts and the planner can plan, with warnings it names."""
    assert accepts(yaml.safe_load(path.read_text(encoding="utf-8")))
    planned = plan(from_file(path), today=TODAY)
    assert planned.errors == ()
    unwaived = {finding.rule for finding in planned.warnings if not finding.waiver}
    assert unwaived == set(_head(path, WARNS))


@pytest.mark.parametrize("path", BAD, ids=_name)
def test_bad_file_says_exactly_what_is_wrong(path: Path) -> None:
    """Every sentence of the file's head and no other, and no secret in them."""
    expected = _head(path, SAYS)
    try:
        said = [str(finding) for finding in plan(from_file(path), today=TODAY).errors]
    except SettingsError as error:
        said = list(error.problems)
    assert said == expected
    assert not any("hf_abc" in sentence or "v1:abc" in sentence for sentence in said)
