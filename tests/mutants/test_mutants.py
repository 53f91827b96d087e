"""The tool on a small program of its own: what it finds, what it says, and how it ends."""

import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutants.change import Changer, other
from tests.mutants.points import Mutant, mutants
from tests.mutants.reasons import read, verdict

ROOT = Path(__file__).resolve().parents[2]

SHOP = '''"""Docstring."""

from functools import cache

LIMIT = 7


def offer(*, name, price=3, colours=()):
    """Docstring."""
    if price > 100:
        raise ValueError(f"{price} is too much")
    return {"name": name, "price": price, "colours": list(colours), "limit": LIMIT}


def shop():
    return offer(name="tea", price=5, colours=["green", "black"])


@cache
def kept():
    return offer(name="tea", price=5)
'''
WEAK = """from shop.offers import kept, offer, shop


def test_price():
    assert shop()["price"] == 5


def test_the_rest():
    assert offer(name="tea")["price"] == 3
    assert shop()["limit"] == 7


def test_what_is_kept():
    assert kept()["name"] == "tea"


def test_what_is_kept_again():
    assert kept()["price"] == 5
"""
STRONG = """

def test_all_of_it():
    assert shop() == {"name": "tea", "price": 5, "colours": ["green", "black"], "limit": 7}
    assert offer(name="tea")["colours"] == []


def test_size():
    from shop import offers

    assert not hasattr(offers, "size") or offers.size() == 3
"""


@dataclass
class Shop:
    """The small program in a directory of its own."""

    root: Path

    def tried(self, *words: str) -> tuple[int, list[str]]:
        """Exit status of the tool, and its lines."""
        here = [sys.executable, "-m", "tests.mutants", "--root", os.fspath(self.root), "--program", "shop"]
        done = subprocess.run(
            [*here, "--tests", "checks", "--jobs", "2", *words],
            cwd=ROOT,
            env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout.splitlines()


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    for place, text in {"shop/__init__.py": "", "shop/offers.py": SHOP, "checks/test_shop.py": WEAK}.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    return Shop(tmp_path)


def test_survivors_are_listed_and_the_dead_are_not(shop: Shop) -> None:
    """Line, argument and what became of it; the last line counts; without reasons the status is 1."""
    status, lines = shop.tried()
    listed = {line for line in lines if line.startswith("shop/offers.py:")}
    assert {line.split(": ", 1)[1] for line in listed} == {
        'name="tea" in shop changed',
        'colours=["green", "black"] in shop dropped',
        '"green" in shop dropped',
        '"green" in shop changed',
        '"black" in shop dropped',
        '"black" in shop changed',
        '"colours": list(colours) in offer dropped',
        "colours in offer changed",
    }
    assert lines[-1].startswith("8 of ")
    assert lines[-1].endswith(" %)")
    assert lines[-2] == "8 without a reason in survivors.toml: write a test that kills them, or the reason"
    assert status == 1


def test_a_sample_says_how_many_it_drew_and_asks_nothing_of_the_rest(shop: Shop) -> None:
    """The same seed draws the same; a reason for what was not drawn is left alone."""
    once, again = shop.tried("--sample", "5", "--seed", "3"), shop.tried("--sample", "5", "--seed", "3")
    assert sorted(once[1]) == sorted(again[1])
    assert re.fullmatch(r"\d of [1-5] survive \(\d+\.\d %\), 5 of each drawn by chance with seed 3", once[1][-1])


def test_what_lived_is_tried_again(shop: Shop) -> None:
    """With a test more, what lived with fewer."""
    first = shop.tried()[1][-1]
    with (shop.root / "checks" / "test_shop.py").open("a") as file:
        file.write(STRONG)
    assert (first[:5], shop.tried("--again")[1][-1]) == ("8 of ", "0 of 8 survive (0.0 %)")


def test_what_outlives_the_patience_survives(shop: Shop) -> None:
    assert re.match(r"(\d+) of \1 survive", shop.tried("--patience", "0")[1][-1])


def test_what_runs_at_import_alone_is_imported_again(shop: Shop) -> None:
    with (shop.root / "shop" / "offers.py").open("a") as file:
        file.write("\n\ndef made():\n    return max(9, 9)\n\n\nMADE = made()\n")
    with (shop.root / "checks" / "test_shop.py").open("a") as file:
        file.write("\n\ndef test_made():\n    from shop.offers import MADE, shop\n\n    assert shop() and MADE == 9\n")
    assert not [line for line in shop.tried()[1] if " in made " in line]


def test_one_survivor_may_stay_with_its_reason(shop: Shop) -> None:
    """A test of everything kills all but `max(3, 3)`, which is 3 as well: no test can tell."""
    with (shop.root / "shop" / "offers.py").open("a") as file:
        file.write("\n\ndef size():\n    return max(3, 2)\n")
    with (shop.root / "checks" / "test_shop.py").open("a") as file:
        file.write(STRONG)
    status, lines = shop.tried()
    assert (status, lines[-1].startswith("1 of ")) == (1, True)
    assert [line for line in lines if line.startswith("survives: ") and " in size changed" in line]
    (shop.root / "tests" / "mutants").mkdir(parents=True)
    (shop.root / "tests" / "mutants" / "survivors.toml").write_text(
        '[[survivor]]\nfile = "shop/offers.py"\nfunction = "size"\ntext = "2"\nhow = "changed"\nreason = "below 3"\n'
    )
    status, lines = shop.tried("shop/offers.py")
    assert [line for line in lines if "2 in size changed" in line][-1].endswith("[below 3]")
    assert (status, lines[-1].startswith("1 of ")) == (0, True)


def some(count: int) -> list[Mutant]:
    """Mutants that differ in their text."""
    return [
        Mutant(
            file="a.py",
            line=each,
            lines=range(1),
            place=f"{each}:0",
            function="f",
            text=f"x={each}",
            how="changed",
            static=False,
            apply=lambda: None,
        )
        for each in range(count)
    ]


@pytest.mark.parametrize(("survive", "tried", "well"), [(0, 9, True), (1, 9, True), (2, 9, False), (3, 100, True)])
def test_few_may_survive_whatever_the_reasons(survive: int, tried: int, well: bool) -> None:
    """Three of a hundred, or one of few."""
    all_of_them = some(tried)
    reasons = {each.key: "cannot be told" for each in all_of_them[:survive]}
    lines, verdict_ = verdict(all_of_them[:survive], all_of_them, ["a.py"], reasons)
    assert (lines[-1], verdict_) == (f"{survive} of {tried} survive ({100 * survive / tried:.1f} %)", well)


def test_a_reason_for_the_dead_or_the_gone_is_told() -> None:
    """Only of files that were looked at."""
    (known,) = some(1)
    reasons = {
        known.key: "dies",
        ("a.py", "f", "y=1", "changed"): "is gone",
        ("b.py", "f", "y=1", "changed"): "is elsewhere",
    }
    lines, well = verdict([], [known], ["a.py"], reasons)
    assert [line.split(";")[0] for line in lines[:-1]] == [
        "survivors.toml has a reason for what dies now",
        "survivors.toml has a reason for what is nowhere in the source",
    ]
    assert not well


@pytest.mark.parametrize("row", ['reason = ""', 'reason = "a"\n[[survivor]]\nROW\nreason = "b"'])
def test_a_reason_is_said_and_said_once(tmp_path: Path, row: str) -> None:
    known = 'file = "a.py"\nfunction = "f"\ntext = "x=1"\nhow = "changed"'
    (tmp_path / "survivors.toml").write_text(f"[[survivor]]\n{known}\n{row.replace('ROW', known)}\n")
    with pytest.raises(ValueError, match="needs one reason; it has none, or two"):
        read(tmp_path / "survivors.toml")


def test_tests_that_fail_by_themselves_end_it(shop: Shop) -> None:
    (shop.root / "checks" / "test_shop.py").write_text("def test_wrong():\n    assert 1 == 2\n")
    status, lines = shop.tried()
    assert status == 2
    assert "test_wrong fails without any mutant" in lines[0]


def found_in(tmp_path: Path, source: str) -> list[str]:
    (tmp_path / "some.py").write_text(source)
    return [f"{each.text} {each.how}" for each in mutants(tmp_path, "some.py")[1]]


@pytest.mark.parametrize(
    "silent",
    [
        '"""Docstring."""',
        'raise ValueError(f"{name} is 3")',
        'pulumi.log.warn("text", urn=3)',
        'self.register_outputs({"a": 1})',
        'x.named("role")',
        'p = argparse.ArgumentParser(prog="x", description=__doc__)',
        'p.add_argument(f, metavar="X", help="text")',
        "ResourceOptions(parent=x)",
        'Thing("logical-name")',
        "def f(x: Literal[3]) -> Literal[4]: pass",
        "assert x == 3, 'text'",
        "Right = tuple[Literal[3], Sequence[Literal[4]]]",
        "y = f if a == 3 else g",
    ],
)
def test_what_says_nothing_is_left_alone(tmp_path: Path, silent: str) -> None:
    """Docstrings, messages, logs, help, outputs for a person, logical names, annotations, conditions."""
    assert [each for each in found_in(tmp_path, silent) if not each.startswith(("f ", "g "))] == []


def test_arguments_entries_elements_and_literals_are_broken(tmp_path: Path) -> None:
    assert found_in(tmp_path, 'f(a=1, b=[g(2)], c={"d": x}, e=Output.all(p, q))') == [
        "a=1 dropped",
        "a=1 changed",
        "b=[g(2)] dropped",
        "g(2) dropped",
        "2 changed",
        'c={"d": x} dropped',
        '"d": x dropped',
        '"d": x changed',
        "e=Output.all(p, q) dropped",
        "p dropped",
        "q dropped",
    ]


def test_a_key_holds_when_lines_move(tmp_path: Path) -> None:
    def keys(source: str) -> list[tuple[str, ...]]:
        (tmp_path / "some.py").write_text(source)
        found: list[Mutant] = mutants(tmp_path, "some.py")[1]
        return [each.key for each in found]

    assert keys("def f():\n    g(a=1)") == keys("\n\n\ndef f():\n    g(\n        a=1,\n    )")


def test_each_mutant_is_what_it_says(tmp_path: Path) -> None:
    """The tree is broken in one place, and can still be compiled."""
    source = 'f(1, a=2, b=[3, *x], c={"k": 4, **y}, d=f"{z + 5}s")'
    (tmp_path / "some.py").write_text(source)
    for index, mutant in enumerate(mutants(tmp_path, "some.py")[1]):
        tree, again = mutants(tmp_path, "some.py")
        again[index].apply()
        text = ast.unparse(ast.fix_missing_locations(tree))
        compile(text, "some.py", "exec")
        assert text != ast.unparse(ast.parse(source)), mutant


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (3, 4),
        (0.5, 1.5),
        (True, False),
        ("true", "false"),
        ("64Mi", "65Mi"),
        ("3", "4"),
        ("10.0.0.0/16", "10.0.0.0/16-x"),
        ("word", "word-x"),
        ([1, 2], [1]),
        ((1,), ()),
        ({"a": 1, "b": 2}, {"a": 1}),
    ],
)
def test_values_are_changed_to_others_of_their_type(value: object, wrong: object) -> None:
    assert other(value) == wrong


def test_what_cannot_be_changed_is_known() -> None:
    changer = Changer()
    assert changer(None, "1:0") is None
    assert not changer.worked
    assert changer(1, "2:8") == 2
    assert changer.worked == {"2:8"}


def test_what_a_match_compares_with_is_a_condition(tmp_path: Path) -> None:
    """A pattern holds no calls, so that none can be put there; what a case yields is broken as ever."""
    kinds = 'def size(kind):\n    match kind:\n        case "large":\n            return 8\n'
    (tmp_path / "kinds.py").write_text(kinds)
    _, found = mutants(tmp_path, "kinds.py")
    assert {each.text for each in found} == {"8"}
