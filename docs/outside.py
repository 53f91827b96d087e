"""A hook of MkDocs: links from pages to files of the repository that are no pages become words that name the file."""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

log = logging.getLogger("mkdocs.hooks.outside")
REPOSITORY = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\[([^\]\[]+)\]\(((?:\.\./)[^)\s#]*)(?:#[^)\s]*)?\)")


def named(markdown: str, page: str) -> str:
    """The text of `docs/<page>` with each link out of docs/ as its words and the file's path, `words (`path`)`.

    A link to a file that the repository does not have is a warning, which ends a strict build.
    """

    def replaced(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
        if path.startswith("docs/") or path == "docs":
            return match[0]
        if not (REPOSITORY / path).exists():
            log.warning("%s: the link to %s leads nowhere: the repository has no %s", page, target, path)
        return words if words.strip("`") == path else f"{words} (`{path}`)"

    return _LINK.sub(replaced, markdown)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """What MkDocs calls before it reads a page."""
    return named(markdown, page.file.src_uri)
