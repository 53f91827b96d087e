"""Random stack files: never a traceback, every refusal a sentence, every accepted plan consistent with itself.

`FUZZ=5000` tries as many; the same number always makes the same file.
"""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from planner.plan import plan
from settings.errors import SettingsError
from settings.load import from_file, from_sections, on_its_preset
from tests.examples import FUZZ
from tests.planner.fuzz.checks import answer
from tests.planner.fuzz.documents import Change, changed, document, ends
from tests.planner.fuzz.remedies import followed
from tests.planner.site import SITE
from tests.planner.stacks import TODAY, planned, sections
from tests.settings.test_corpus import CORPUS

_PARTS = 4
"""Tests that the examples are divided among, for as many workers."""


def smallest(base: dict[str, object], changes: list[Change]) -> tuple[list[Change], Exception | AssertionError]:
    """Those of the changes without which the fault is not seen, and the fault."""
    fault: Exception | AssertionError = AssertionError("seen once, and not again")
    kept = list(changes)
    for change in (None, *changes):
        fewer = [each for each in kept if each is not change]
        try:
            answer(changed(base, fewer))
        except Exception as error:
            kept, fault = fewer, error
    return kept, fault


@pytest.mark.parametrize("part", range(_PARTS))
def test_every_stack_file_gets_an_answer(part: int) -> None:
    """A08: whatever stands in a stack file, the answer is sentences about it, or a plan that holds."""
    became: list[str] = []
    for number in range(part, FUZZ, _PARTS):
        base, changes = document(Random(number))  # noqa: S311 - nothing is kept secret with it
        try:
            became.append(answer(changed(base, changes)))
        except Exception as error:
            kept, fault = smallest(base, changes)
            raise AssertionError(f"file {number}, with {kept}: {fault!r}") from error
    assert {"refused", "errors", "planned"} <= set(became)


def test_rows_at_the_ends_of_their_numbers_get_an_answer() -> None:
    """B01: whatever a site says of a machine that its stack uses, the answer is sentences or a plan that holds."""
    looked_at = list(ends())
    assert looked_at
    for what, data in Random(1).sample(looked_at, min(FUZZ // 8, len(looked_at))):  # noqa: S311
        try:
            answer(data)
        except Exception as error:
            raise AssertionError(what) from error


NAMED = {
    # names and addresses with digits in them, or what stands elsewhere than in the stack file
    *("dockerfile-without-fabric", "image-unproven-on-efa", "image-without-efa", "script-not-in-image", "fabric-mtu"),
    *("endpoint-open", "endpoint-private", "endpoint-protected", "issuer-reach", "machine-elsewhere"),
    *(
        "spending-unwatched",
        "server-cannot-drain",
        "source-undeclared",
        "server-unknown",
        "storage-server-unknown",
        "pool-without-gpu",
    ),
    *(
        "api-address",
        "trainer-not-served",
        "trials-queue",
        "quota-above-default",
        "site-row",
        "drive-size",
        "psu-power",
        "psu-spare",
        "scaled-types-equal",
    ),
    # what must stay as it is, what is only told, or what no key can be
    *("lustre-targets", "trial-fits-gpus", "network-bound", "restarts-run-out", "spot-without-checkpoint"),
    # one of several ways, by whose choice other keys follow
    *("fabric-idle-rate", "rack-crowded", "power-delivery", "lustre-servers"),
}
"""Rules whose remedies have numbers that are no value of a key; those of all others are followed."""
_VALUE = re.compile(r"(?<![\w./-])\d[\d,.]*")


def follow(data: dict[str, Any]) -> list[str]:
    """The rules whose remedies were followed. Fails where one of them still finds the same, or nobody may follow it."""
    rules = []
    for finding in plan(from_sections(data), today=TODAY).findings:
        ways = list(followed(finding, data))
        assert ways or finding.rule in NAMED or not _VALUE.search(finding.remedy), str(finding)
        for better in ways:
            left = plan(from_sections(better), today=TODAY).findings
            assert (finding.rule, finding.path) not in {(each.rule, each.path) for each in left}, str(finding)
            rules.append(finding.rule)
    return rules


def test_every_remedy_with_a_value_works() -> None:
    """What a finding tells a person to type is taken, and ends the finding."""
    rules: list[str] = []
    for number in range(FUZZ):
        base, changes = document(Random(number))  # noqa: S311 - nothing is kept secret with it
        try:
            data = on_its_preset(changed(base, changes))
            from_sections(data)
        except SettingsError:
            continue
        rules += follow(data)
    assert rules


def test_every_remedy_of_the_corpus_works() -> None:
    """Stack files that each break a rule: whatever value its remedy names is taken, and ends the finding."""
    rules = {rule for file in sorted(CORPUS.glob("*/*.yaml")) for rule in follow(loaded(file))}
    assert len(rules) >= 45, rules


def loaded(file: Path) -> dict[str, Any]:
    """The sections of a stack file; those of a site that works where they are refused before they are planned."""
    try:
        from_file(file)
    except SettingsError:
        return SITE
    config = yaml.safe_load(file.read_text(encoding="utf-8"))["config"]
    return on_its_preset({key.removeprefix("gpucluster:"): config[key] for key in config if "gpucluster:" in key})


@pytest.mark.parametrize(
    ("rule", "stack", "section", "change"),
    [
        ("addresses-too-few", SITE, "platform", {"bmcCidr": "10.30.0.0/30"}),
        ("service-range", SITE, "platform", {"serviceCidr": "10.0.0.0/11", "managementCidr": "192.168.0.0/22"}),
        ("run-context", sections("prod"), "training", {}),
    ],
)
def test_remedies_that_name_a_range(rule: str, stack: dict[str, Any], section: str, change: dict[str, Any]) -> None:
    """A range that is too small, one that is too large, a sequence that is too long."""
    data = {**stack, section: {**stack[section], **change}}
    if rule == "run-context":
        run = {**data["training"]["runs"][0], "model": "llama-3-8b", "sequenceLength": 1_000_000}
        data["training"] = {**data["training"], "runs": [run]}
    assert rule in follow(data)


@pytest.mark.parametrize("billion", [10_000, 100_000])
def test_no_remedy_asks_for_more_restarts_than_a_run_may_have(billion: int) -> None:
    """A run that fails 2,300 or 23,000 times is parted; the settings take 1,000 restarts."""
    run = {"model": "llama-3-70b", "tokensBillion": billion, "restarts": 3}
    changes = {f"training.runs.0.{key}": value for key, value in run.items()}
    changes |= {"training.failuresPer1000NodeDays": 100, "training.runs.0.checkpoint": _SAVES}
    found = [each for each in planned("prod", changes).findings if each.rule == "restarts-run-out"]
    assert [each.remedy.partition(":")[0] for each in found] == ["a run may have 1000 restarts"]


def test_no_remedy_asks_for_a_larger_network_than_there_may_be() -> None:
    """A VPC of a /16 is the largest, and is not told to grow."""
    found = planned("prod", {"platform.vpcCidr": "10.64.0.0/16", "pools.1.count": 2048}).findings
    said = [each.remedy for each in found if each.rule == "subnet-size"]
    assert said == ["take fewer nodes, or types that hold fewer pods"]


_SAVES = {"everyMinutes": 30, "withinSeconds": 60}
