"""A rehearsal's keys are random, made once, and never those that somebody else may know."""

import stat
from pathlib import Path

import pytest

from rehearsal import keys
from rehearsal.keys import Account, KeysError


def test_keys_are_made_once_for_the_owner_alone_and_differ_between_sites(tmp_path: Path) -> None:
    made = keys.make(tmp_path / "one")
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o600
    assert keys.make(tmp_path / "one") == keys.read(tmp_path / "one") == made
    other = keys.make(tmp_path / "two")
    assert {made.access, made.secret, made.control}.isdisjoint({other.access, other.secret, other.control})
    assert set(made.store).isdisjoint({made.access, made.secret, made.control, *other.store})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_keys_that_others_may_read_are_not_used(tmp_path: Path, mode: int) -> None:
    keys.make(tmp_path / "keys")
    (tmp_path / "keys").chmod(mode)
    for use in (keys.read, keys.make):
        with pytest.raises(KeysError, match=f"with mode {mode:04o}, so other users may know"):
            use(tmp_path / "keys")


def test_keys_of_another_owner_a_link_and_no_keys_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys.make(tmp_path / "keys")
    (tmp_path / "link").symlink_to(tmp_path / "keys")
    with pytest.raises(KeysError, match="cannot be read"):
        keys.read(tmp_path / "link")
    with pytest.raises(KeysError, match="cannot be read"):
        keys.read(tmp_path / "none")
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    with pytest.raises(KeysError, match="belongs to uid"):
        keys.read(tmp_path / "keys")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"access": "a"}'])
def test_a_file_that_holds_no_keys_is_said_to(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys"
    path.touch(mode=0o600)
    path.write_text(content)
    with pytest.raises(KeysError, match="has no keys"):
        keys.read(path)


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    made = keys.make(tmp_path / "keys")
    shown = repr(Account("http://127.0.0.1:1", made))
    assert made.access in shown
    assert made.secret not in shown
    assert made.control not in shown
