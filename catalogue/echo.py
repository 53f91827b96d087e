"""Words of a stack file as sentences about them repeat them."""

_LONGEST = 80


def echo(value: object) -> str:
    """Input as Python writes it, text in quotes and its control characters escaped, cut at 80 characters."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
