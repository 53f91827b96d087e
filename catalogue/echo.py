"""Words of a stack file or of a command as sentences about them repeat them."""

_LONGEST = 80


def echo(value: object) -> str:
    """Input as Python writes it, text in quotes and its control characters escaped, cut at 80 characters."""
    return _cut(repr(value))


def bare(text: object) -> str:
    """Input without quotes, as in the name of a file: its control characters escaped, cut at 80 characters."""
    return _cut(repr(str(text))[1:-1])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
