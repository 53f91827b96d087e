"""Links between the repository's pages lead somewhere; docs/ builds as a site without a warning (make site)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from docs.outside import named

TOP = Path(__file__).resolve().parent.parent
PAGES = [
    path
    for path in subprocess.run(
        ["git", "ls-files", "*.md"], cwd=TOP, capture_output=True, text=True, check=True
    ).stdout.split()
    if not path.startswith("tests/review/golden/")
]


def links(text: str) -> list[str]:
    """Targets of a page's links, without those of other sites."""
    found = [
        str(child.attrs["href"])
        for token in MarkdownIt().parse(text)
        for child in token.children or []
        if child.type == "link_open"
    ]
    return [each for each in found if not re.match(r"[a-z]+:", each)]


def test_there_are_pages() -> None:
    assert len(PAGES) > 50


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_of_the_repository(page: str) -> None:
    text = (TOP / page).read_text()
    dead = [each for each in links(text) if not (TOP / page).parent.joinpath(each.partition("#")[0]).exists()]
    assert dead == []


def test_docs_build_as_a_site_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=TOP,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert (tmp_path / "site" / "how-to" / "train.html").exists()


def test_a_link_out_of_docs_names_the_file() -> None:
    assert named("see [the rehearsal](../../rehearsal/README.md#racked-hosts).", "how-to/metal.md") == (
        "see the rehearsal (`rehearsal/README.md`)."
    )
    assert named("[tasks](../how-to/tasks.md)", "explanation/a.md") == "[tasks](../how-to/tasks.md)"


def test_a_link_out_of_docs_that_leads_nowhere_is_told(caplog: pytest.LogCaptureFixture) -> None:
    named("[words](../nowhere.md)", "tutorial.md")
    assert "the repository has no nowhere.md" in caplog.text
