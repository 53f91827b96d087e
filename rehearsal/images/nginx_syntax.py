"""nginx's configuration as text: directives, their words and blocks.

Source: nginx, src/core/ngx_conf_file.c: words are divided by blanks, or quoted; a backslash takes the meaning from a
quote or a backslash behind it, writes a tab, a return or a line feed, and stays before anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"""\s+|\#[^\n]*|(?P<mark>[{};])|(?P<word>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s{};"']+)""", re.S)
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n"}


class ConfigError(Exception):
    """The configuration cannot be read; the text is what nginx says."""


@dataclass(frozen=True)
class Directive:
    """A directive: its words, the directives of its block, and where it stands."""

    name: str
    words: Sequence[str] = ()
    block: Sequence[Directive] = ()
    where: str = ""


def parse(text: str, path: str) -> list[Directive]:
    """The directives of a file. Pure. Raises ConfigError."""
    return _block(_tokens(text, path), path, inside=False)


def _block(tokens: Iterator[tuple[str, str, str]], path: str, *, inside: bool) -> list[Directive]:
    found: list[Directive] = []
    words: list[str] = []
    for kind, read, where in tokens:
        if kind == "word":
            words.append(read)
        elif read == "}":
            if words or not inside:
                raise ConfigError(f'unexpected "}}" in {where}')
            return found
        elif not words:
            raise ConfigError(f'unexpected "{read}" in {where}')
        else:
            block = _block(tokens, path, inside=True) if read == "{" else []
            found.append(Directive(words[0], words[1:], block, where))
            words = []
    if inside or words:
        raise ConfigError(f'unexpected end of file, expecting "}}" or ";" in {path}')
    return found


def _tokens(text: str, path: str) -> Iterator[tuple[str, str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        where = f"{path}:{text.count(chr(10), 0, at) + 1}"
        if match is None:
            raise ConfigError(f"unexpected end of file in {where}")
        at = match.end()
        if match["mark"]:
            yield "mark", match["mark"], where
        elif match["word"]:
            yield "word", _plain(match["word"]), where


def _plain(word: str) -> str:
    bare = word[1:-1] if word[0] in "\"'" else word
    return re.sub(r"""\\(["'\\trn ])""", lambda found: _ESCAPES.get(found[1], found[1]), bare, flags=re.S)
