"""Quotes words of a stack file or command in error messages."""

from unicodedata import name

_LONGEST = 80


def echo(value: object) -> str:
    """Input as Python writes it, text in quotes and its control characters escaped, cut at 80 characters.

    Letters of another script than Latin beside Latin ones are escaped too: most look like them.
    """
    text = repr(value)
    letters = [letter for letter in text if letter.isalpha()]
    latin = [letter.isascii() or name(letter, "").startswith("LATIN") for letter in letters]
    return _cut(ascii(value) if any(latin) and not all(latin) else text)


def bare(text: object) -> str:
    """Input without quotes, as in the name of a file: its control characters escaped, cut at 80 characters."""
    return _cut(repr(str(text))[1:-1])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
