"""Thresholds of alerts, each with its source (ST17)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Threshold:
    """A limit of `value` in `unit`, and who says so. Raises ValueError where nobody does."""

    value: float
    unit: str
    source: str

    def __post_init__(self) -> None:
        if not self.source.strip():
            raise ValueError(f"a threshold of {self.value:g} {self.unit} needs a source: say who names that number")

    @property
    def text(self) -> str:
        """As PromQL writes it."""
        return f"{self.value:.15g}"


@dataclass(frozen=True, kw_only=True)
class Codes:
    """Values of a label that count, and who says so. Raises ValueError where there are none, or nobody does."""

    values: tuple[str, ...]
    source: str

    def __post_init__(self) -> None:
        if not self.values or not self.source.strip():
            raise ValueError(f"the codes {', '.join(self.values) or '(none)'} need values and a source")

    @property
    def text(self) -> str:
        """As a regular expression that matches one of them."""
        return "|".join(self.values)
