"""Whether each decision has a number of its own, and stands in the list once, by number and under its title."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN, REHEARSAL = ROOT / "docs" / "adr", ROOT / "rehearsal" / "docs" / "adr"


def test_numbers_are_given_once_and_records_are_listed() -> None:
    own, others = (sorted(path.name for path in home.glob("[0-9]*.md")) for home in (OWN, REHEARSAL))
    assert [number for number, times in Counter(name[:4] for name in (*own, *others)).items() if times > 1] == []
    said = (OWN / "README.md").read_text(encoding="utf-8")
    heads = {name: (OWN / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for name in own}
    rows = [f"- [{name[:4]}]({name}) {head.partition(' ')[2]}" for name, head in heads.items()]
    assert [line for line in said.splitlines() if line.startswith("- [")] == rows
    assert [name for name in others if name[:4] not in said] == []
    readme = (REHEARSAL.parents[1] / "README.md").read_text(encoding="utf-8")
    assert [name for name in others if name not in readme] == []
