"""Words of the faces that need nothing that draws."""

from catalogue.echo import bare

__all__ = ["bare", "counted"]


def counted(number: int, noun: str) -> str:
    """So many of something: 1 node, 2 nodes."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
