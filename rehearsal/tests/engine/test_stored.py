"""A damaged state is named with what lies beside it, and its newest backup takes its place on request."""

import json
import os
from pathlib import Path

import pytest

from rehearsal import places
from rehearsal.engine import home, stored
from rehearsal.engine.stored import StateError

GOOD = {"version": 3, "checkpoint": {"stack": "dev", "latest": {"resources": [{"urn": "a"}, {"urn": "b"}]}}}
OLDER = {"version": 3, "checkpoint": {"stack": "dev", "latest": {"resources": [{"urn": "a"}]}}}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state with three backups of different age: of two resources, of one, and a damaged one, which is the newest."""
    path = tmp_path / ".pulumi" / "stacks" / "gpucluster" / "dev.json"
    kept = tmp_path / ".pulumi" / "backups" / "gpucluster" / "dev"
    for directory in (path.parent, kept):
        directory.mkdir(parents=True)
    path.write_text(json.dumps(GOOD))
    for at, (each, text) in enumerate(
        [
            (kept / "dev.1.json", json.dumps(OLDER)),
            (path.with_name("dev.json.bak"), json.dumps(GOOD)),
            (kept / "dev.3.json", '{"version": 3, "chec'),
        ]
    ):
        each.write_text(text)
        os.utime(each, (1_700_000_000 + at,) * 2)
    return path


def check(state: Path) -> None:
    stored.check(state.parents[3], "recover it", "end it")


def test_a_whole_state_is_left_alone(state: Path) -> None:
    check(state)
    assert stored.restored(state.parents[3]) == []
    assert json.loads(state.read_text()) == GOOD


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "it is empty; 0 bytes"), ('{"version": 3, "checkpo', "Unterminated string"), ("[]", "no state of Pulumi's")],
)
def test_a_damaged_one_is_named_with_its_backup_and_the_ways_on(state: Path, content: str, why: str) -> None:
    state.write_text(content)
    with pytest.raises(StateError) as error:
        check(state)
    said = str(error.value)
    assert said.startswith(f"{state} is damaged (")
    assert why in said
    assert f"`recover it` goes on from {state}.bak of 2023-11-14 22:13:21 UTC with 2 resources" in said
    assert "`end it` ends the rehearsal without it" in said


def test_the_newest_backup_that_can_be_read_takes_its_place_and_the_damaged_one_is_kept(state: Path) -> None:
    state.write_text("{")
    (said,) = stored.restored(state.parents[3])
    assert json.loads(state.read_text()) == GOOD
    (kept,) = state.parent.glob("dev.json.damaged-*")
    assert kept.read_text() == "{"
    assert str(kept) in said
    check(state)


def test_without_any_backup_that_is_said(state: Path) -> None:
    for each in (state.with_name("dev.json.bak"), *(state.parents[3] / ".pulumi/backups").rglob("*.json")):
        each.unlink()
    state.write_text("")
    with pytest.raises(StateError, match="no backup of it can be read; `end it`"):
        check(state)
    with pytest.raises(StateError, match="no backup of it can be read"):
        stored.restored(state.parents[3])
    assert state.exists()


def test_no_new_passphrase_is_made_where_a_state_is(tmp_path: Path) -> None:
    site = places.SiteDirectory(tmp_path / "dev").create()
    first = home.passphrase(site)
    made = first.read_text()
    assert home.passphrase(site).read_text() == made
    sealed = site.backend / ".pulumi" / "stacks" / "p" / "dev.json"
    sealed.parent.mkdir(parents=True)
    sealed.write_text(json.dumps(GOOD))
    first.unlink()
    with pytest.raises(StateError, match=f"{first} is missing, and the secrets in {sealed} are encrypted with"):
        home.passphrase(site)
    assert not first.exists()
