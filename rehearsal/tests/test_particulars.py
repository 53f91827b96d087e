"""What is particular to a program is read from the program's own directory, and errors in it are sentences."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal import particulars
from rehearsal.command.main import main
from rehearsal.particulars import Content, Particulars, ParticularsError, load, upstream

PACKAGE = """\
from pathlib import Path
from rehearsal.particulars import Particulars
from rehearsed.other import NAME
PROGRAM = Particulars(typed=lambda *_: NAME, upstream=Path("vendors"))
"""


@pytest.fixture(autouse=True)
def _afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other tests have the package of this repository's program under the same name: it comes back."""
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == particulars.PACKAGE}
    monkeypatch.delenv(particulars.UPSTREAM, raising=False)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == particulars.PACKAGE]:
        del sys.modules[name]
    sys.modules.update(before)


def program(root: Path, text: str, name: str = "one") -> Path:
    (root / "rehearsed").mkdir(parents=True)
    (root / "rehearsed" / "__init__.py").write_text(text)
    (root / "rehearsed" / "other.py").write_text(f"NAME = {name!r}\n")
    return root


def test_a_program_without_particulars_is_stock(tmp_path: Path) -> None:
    found = load(tmp_path)
    assert found == Particulars()
    assert found.account("config: {aws:region: eu-north-1}") == Content("eu-north-1")
    assert found.typed("recover", "dev", "clear") == "rehearse recover --stack dev --clear"
    assert found.secrets("config: {}") == ()
    assert upstream(tmp_path) == {}


def test_two_programs_have_their_own(tmp_path: Path) -> None:
    one, two = (program(tmp_path / name, PACKAGE, name) for name in ("one", "two"))
    assert [load(each).typed("up", "dev") for each in (one, two, one)] == ["one", "two", "one"]


def test_vendors_files_are_where_the_variable_says_or_else_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = program(tmp_path / "p", PACKAGE)
    assert upstream(root) == {}, "there is no such directory"
    (root / "vendors").mkdir()
    assert upstream(root) == {"GPUCLUSTER_UPSTREAM": str(root / "vendors")}
    monkeypatch.setenv("GPUCLUSTER_UPSTREAM", str(tmp_path))
    assert upstream(root) == {"GPUCLUSTER_UPSTREAM": str(tmp_path)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nowhere_to_be_found", "cannot be imported: ModuleNotFoundError: No module named"),
        ("PROGRAM = 1", "has no `PROGRAM = Particulars"),
        ("", "has no `PROGRAM = Particulars"),
    ],
)
def test_a_package_that_cannot_be_used_is_told(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = program(tmp_path / "p", text)
    with pytest.raises(ParticularsError, match=said):
        load(root)
    (root / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    assert main(["status", "--root", str(root)]) == 1
    assert capsys.readouterr().err.startswith(f"error: {root / 'rehearsed' / '__init__.py'} ")
