"""Whether each decision has a number of its own, and stands in the list."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN, REHEARSAL = ROOT / "docs" / "adr", ROOT / "rehearsal" / "docs" / "adr"


def test_numbers_are_given_once_and_records_are_listed() -> None:
    own, others = (sorted(path.name for path in home.glob("[0-9]*.md")) for home in (OWN, REHEARSAL))
    assert [number for number, times in Counter(name[:4] for name in (*own, *others)).items() if times > 1] == []
    said = (OWN / "README.md").read_text(encoding="utf-8")
    assert [name for name in own if f"]({name})" not in said] == []
    assert [name for name in others if name[:4] not in said] == []
    readme = (REHEARSAL.parents[1] / "README.md").read_text(encoding="utf-8")
    assert [name for name in others if name not in readme] == []
