"""The comment rendered: what a reader of GitHub sees of its Markdown."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.review.pictures import GOLDEN, SHOWN, html

COMMENTS = sorted({*GOLDEN.glob("*.md"), *(comment for comment, _ in SHOWN.values())})


class Page(HTMLParser):
    """A page's elements, and its text outside of code. Raises AssertionError for elements that are not nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.within: dict[str, set[str]] = {}
        self.prose: list[str] = []
        self.feed(text)
        self.close()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A line across holds nothing."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as the parser has it
        self.count[tag] = self.count.get(tag, 0) + 1
        for outer in self.open:
            self.within.setdefault(outer, set()).add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"code", "style"} & {*self.open}:
            self.prose.append(data)


@pytest.mark.parametrize("comment", COMMENTS, ids=lambda path: path.stem)
def test_a_comment_renders_whole(comment: Path) -> None:
    """Tables are tables, also within what is folded; nothing of the Markdown is left to read as such."""
    markdown = comment.read_text(encoding="utf-8")
    page = Page(html(markdown))
    assert page.open == []
    assert page.count.get("table", 0) == markdown.count("\n|---")
    assert page.count.get("details", 0) == markdown.count("<details>")
    assert page.count.get("pre", 0) == markdown.count("```diff")
    assert page.count.get("pre", 0) == 0 or "pre" in page.within["details"], "a diff is folded"
    told = "".join(page.prose)
    assert [sign for sign in ("**", "```", "|--", "| ", "<details", "<!--") if sign in told] == []


def test_a_table_needs_a_line_of_its_own_and_details_an_empty_one() -> None:
    """What the pictures would show if the blocks of a comment were put together otherwise."""
    assert Page(html("numbers\n| a |\n|---|\n| 1 |\n\nmore")).count["table"] == 1
    assert "table" not in Page(html("<details><summary>s</summary>\n| a |\n|---|\n| 1 |\n</details>")).count
