"""The registry: ids, waivers, and what is wrong with waivers."""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from catalogue.tables import SHIPPED
from planner.draft import registry
from planner.findings import Observation, Registry, Severity
from planner.plan import Plan, plan
from settings.errors import SettingsError
from settings.load import from_file
from tests.planner.stacks import TODAY, about, planned, rules

TCP = {"pools.1.instanceType": "g6e.4xlarge"}


def _waiver(**changes: str) -> dict[str, Any]:
    waiver = {"rule": "gang-without-efa", "reason": "a smoke test that may be slow", "until": "2027-01-31"}
    return {"waivers": [{**waiver, **changes}]}


def _corpus_plans() -> list[Plan]:
    plans: list[Plan] = []
    corpus, literal = Path(__file__).parents[1] / "settings" / "corpus", Path(__file__).parent / "presets" / "literal"
    for path in sorted([*corpus.glob("*/*.yaml"), *literal.glob("*.yaml")]):
        with suppress(SettingsError):
            plans.append(plan(from_file(path), today=TODAY))
    return plans


def test_five_rules_with_numbers_are_registered() -> None:
    """The rules every stack meets first: subnets, EFA, gang, shared memory, price."""
    ids = {rule.id for rule in registry.rules}
    assert {"subnet-size", "efa-limit", "gang-fits-pool", "shm-below-memory", "budget"} <= ids


def test_words_of_the_file_are_cut_in_sentences() -> None:
    """A08: an image of 400 characters is not printed whole, and stands whole in what is to be typed."""
    long = f"i/{'z' * 400}:1"
    (finding,) = about("image-unproven-on-efa", planned(changes={"training.runs.0.image": long}))
    assert f"{long[:77]}... " in finding.sentence
    assert long in finding.remedy


def test_every_rule_names_what_it_guards_and_explains_itself() -> None:
    """Each rule carries a requirement or correction id, a docstring, what must hold and where that is from."""
    unexplained = [
        rule.id for rule in registry.rules if not (rule.guards and rule.look.__doc__ and rule.formula and rule.source)
    ]
    assert unexplained == []


def test_every_rule_is_broken_by_some_test() -> None:
    """No rule is there for show: each id stands in a test or a corpus file's head that makes it speak."""
    rooms = (Path(__file__).parent, Path(__file__).parents[1] / "stacks")
    asserted = "".join(path.read_text(encoding="utf-8") for room in rooms for path in room.rglob("test_*.py"))
    spoken = {finding.rule for found in _corpus_plans() for finding in found.findings}
    assert [rule.id for rule in registry.rules if rule.id not in spoken and f'"{rule.id}"' not in asserted] == []


def test_a_finding_of_a_rule_that_compares_shows_what_it_compared() -> None:
    """Where a formula has a lesser and a greater side, each finding has its numbers as inputs; names need none."""
    compares = {rule.id for rule in registry.rules if rule.formula and re.search("[<>]", rule.formula)}
    found = [finding for found in _corpus_plans() for finding in found.findings if finding.rule in compares]
    assert {finding.rule for finding in found} >= {"subnet-size", "gang-fits-pool", "shm-below-memory", "psu-power"}
    assert [finding.rule for finding in found if not re.search(r"\d", " ".join(finding.inputs.values()))] == []


def test_a_rule_looks_at_drafts_of_its_own_platform() -> None:
    """Rules of AWS never see metal and the reverse; a common rule sees both; what they say keeps its inputs."""

    @dataclass(frozen=True)
    class Common:
        size: int

    class Cloud(Common):
        pass

    class Racks(Common):
        pass

    rules_ = Registry()
    asked: list[str] = []

    def asks(name: str) -> Callable[[Common], Iterable[Observation]]:
        def look(draft: Common) -> Iterable[Observation]:
            asked.append(name)
            inputs = {"size": f"{draft.size} nodes"}
            yield Observation(path="pools", sentence=name, remedy="none", inputs=inputs)

        look.__name__ = name
        return look

    rules_.about(Common)[0]("A08 F02", formula="size", source="a document")(asks("common"))
    rules_.about(Cloud)[1]("A08", formula="price", source="a page")(asks("cloud"))
    rules_.about(Racks)[0]("A08", formula="power", source="a row")(asks("racks"))
    found = rules_.findings(Racks(3), (), TODAY)
    assert asked == ["common", "racks"]
    assert [finding.inputs for finding in found] == [{"size": "3 nodes"}] * 2
    assert [(each.formula, each.source, each.guards) for each in rules_.rules] == [
        ("size", "a document", ("A08", "F02")),
        ("price", "a page", ("A08",)),
        ("power", "a row", ("A08",)),
    ]
    rented = [(finding.rule, finding.severity) for finding in rules_.findings(Cloud(1), (), TODAY)]
    assert rented == [("common", Severity.ERROR), ("cloud", Severity.WARNING)]
    with pytest.raises(ValueError, match="two rules are called common"):
        rules_.about(Racks)[0]("A08", formula="size", source="a document")(asks("common"))


def test_a_rule_of_each_thing_says_where_the_thing_is_and_what_it_is_called() -> None:
    """Paths begin at the thing's own, and its name is the subject of what has no other."""
    rules_ = Registry()

    @dataclass(frozen=True)
    class Pool:
        name: str
        nodes: int

    def pools(draft: dict[str, int]) -> Iterable[tuple[str, Pool]]:
        return ((f"pools[{index}]", Pool(*each)) for index, each in enumerate(draft.items()))

    rule, _ = rules_.about(dict)

    @rule("A08", each=pools, formula="nodes > 0", source="a document")
    def pool_empty(_: dict[str, int], pool: Pool) -> Iterable[Observation]:
        """Every pool has nodes."""
        if not pool.nodes:
            yield Observation(path="count", sentence="is 0", remedy="set it")
            yield Observation(path="", sentence="it costs nothing", remedy="remove it", subject="money")

    found = rules_.findings({"system": 3, "training": 0}, (), TODAY)
    assert [(each.rule, each.path, each.subject) for each in found] == [
        ("pool-empty", "gpucluster:pools[1].count", "training"),
        ("pool-empty", "gpucluster:pools[1]", "money"),
    ]
    assert rules_.rules[0].look.__doc__ == "Every pool has nodes."


def test_a_waiver_may_name_a_rule_of_the_other_platform() -> None:
    """A rule that cannot speak here is known all the same: the waiver is unused, not unknown."""
    stale = planned(changes=_waiver(rule="server-unknown"))
    assert (rules(stale), stale.errors) == (["waiver-unused"], ())


def test_waiver_accepts_a_finding_until_its_day() -> None:
    """A waived error is shown with the reason, and stops nothing."""
    assert rules(planned(changes=TCP)) == ["gang-without-efa"]
    waived = planned(changes={**TCP, **_waiver()})
    assert waived.errors == ()
    (shown,) = waived.warnings
    assert shown.waiver == "a smoke test that may be slow (until 2027-01-31)"
    assert rules(planned(changes={**TCP, **_waiver()}, today=date(2027, 1, 31))) == []
    late = planned(changes={**TCP, **_waiver()}, today=date(2027, 2, 1))
    assert rules(late) == ["gang-without-efa", "waiver-expired"]


def test_waiver_with_a_subject_covers_that_subject_only() -> None:
    """A waiver for one run does not silence another."""
    assert rules(planned(changes={**TCP, **_waiver(subject="llama-3-8b-sft")})) == []
    assert rules(planned(changes={**TCP, **_waiver(subject="other")})) == ["gang-without-efa", "waiver-unused"]


def test_waiver_that_covers_nothing_is_mentioned() -> None:
    """A stale waiver is a warning, so that it goes away."""
    stale = planned(changes=_waiver())
    assert (rules(stale), stale.errors) == (["waiver-unused"], ())


@pytest.mark.parametrize(("day", "found"), [("2027-02-21", []), ("2027-02-22", ["waiver-far"])])
def test_a_waiver_of_ones_own_stack_ends_within_90_days(day: str, found: list[str]) -> None:
    """Examples are nobody's stack: theirs would make the committed files wrong with time."""
    changes = {**TCP, **_waiver(until=day)}
    assert rules(planned(changes=changes, today=date(2026, 11, 23))) == []
    mine = planned(changes={**changes, "example": False}, today=date(2026, 11, 23))
    assert [rule for rule in rules(mine) if rule.startswith("waiver")] == found


def test_images_are_waived_one_by_one() -> None:
    """I03, IN01: in production a waiver names its image; a blanket one is refused and covers nothing."""
    blanket = {"waivers": [{"rule": "image-not-pinned", "reason": "we trust all of them", "until": "2027-12-31"}]}
    found = [rule for rule in rules(planned("prod", blanket)) if rule.startswith(("image", "waiver"))]
    assert found == [*["image-not-pinned"] * 10, "waiver-unnamed"]


def test_production_is_clean_by_named_waivers_only() -> None:
    """I03: the committed prod stack has no standing error; its waivers name the images it really uses."""
    production = planned("prod")
    assert production.errors == ()
    assert sorted(finding.rule for finding in production.warnings) == [
        "audit-log-goes",
        "chart-images-not-pinned",
        *["chart-not-pinned"] * 2,
        "charts-not-checked",
        *["image-not-pinned"] * 10,
        "weights-not-pinned",
    ]
    assert all(finding.waiver for finding in production.warnings)
    assert planned("dev").findings == ()


def test_known_digests_pin_images() -> None:
    """I03: what `make pin-images` resolved needs no waiver, and the waiver is then called unused."""
    image = "vllm/vllm-openai:v0.29.0"
    catalogue = replace(SHIPPED, digests={image: f"sha256:{'0' * 64}"})
    (unused,) = [finding for finding in planned("prod", catalogue=catalogue).warnings if not finding.waiver]
    assert unused.rule == "waiver-unused"
    assert image in str(unused)


def test_registry_keeps_severity_and_path() -> None:
    """A finding carries its rule's severity, and its path below the namespace."""
    (finding,) = planned(changes={"training.runs.0.nodes": 3}).errors
    assert finding.severity is Severity.ERROR
    assert finding.path == "gpucluster:training.runs[0].nodes"
    assert Registry().findings(object(), (), date(2026, 1, 1)) == ()
