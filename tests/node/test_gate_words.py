"""What a gate asks of its tools and passes on, word by word: each was once changed, and no test said so."""

import io
import json
from argparse import Namespace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import expire
import gate
import measure
import perftest
import publish
import pytest
import railed
import rails
from results import UnreadableError

from planner.interconnect import EXCHANGES

EXPIRE = ["--identity=/i", "--pool=big", "--days=9"]


def test_what_ranks_exchange_needs_a_second_buffer() -> None:
    """In place a rank would send what has just come: the planner's exchanges are those of the script."""
    assert [str(each).replace("-", "_") for each in EXCHANGES] == list(measure.EXCHANGES)


def test_storage_that_cannot_be_read_fails_by_its_name() -> None:
    plan = {"storage": {"directory": "/gate", "mib": 1, "write_gb_per_s": None, "read_gb_per_s": None}}
    found = gate.storage(plan, lambda *_, **__: "dd: No space left on device")
    assert (found.test, found.state) == ("storage", "fail")


@pytest.mark.parametrize("left", range(len(EXPIRE)))
def test_without_one_of_its_words_nothing_expires(left: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        expire.main([each for index, each in enumerate(EXPIRE) if index != left])
    assert f"required: {EXPIRE[left].partition('=')[0]}" in capsys.readouterr().err


def test_a_log_that_is_no_text_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish.Api, "_open", lambda *_: io.BytesIO(b"rank \xff ended"))
    assert publish.Api("http://api", "token", "training", None).text("/log") == "rank \ufffd ended"


def test_of_a_long_last_line_160_letters_are_said() -> None:
    with pytest.raises(UnreadableError, match="measured nothing") as told:
        perftest.gbps("x" * 400)
    assert str(told.value).count("x") == 160


def test_rails_are_measured_and_met_in_the_time_of_their_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    (tmp_path / rails.ASKED).write_text(json.dumps({"seconds": 36}))
    monkeypatch.setattr(rails, "measure", lambda *given: asked.append(given[-1]))
    monkeypatch.setattr(railed, "of_node", lambda *_: None)

    def meet(*_: Any, **given: Any) -> list[int]:
        asked.append(given)
        return [0, 1]

    monkeypatch.setattr(measure, "meet", meet)
    node = Namespace(out=tmp_path, index=0, system=tmp_path)
    assert measure.by_rails(object(), node, [0, 1]) == [0, 1]
    assert asked == [timedelta(seconds=36), {"healthy": True, "seconds": 96, "what": "rails"}]


@pytest.mark.parametrize(("first", "file", "said"), [(True, "out", "out 0 10.0.0.7"), (False, "in", "out 0 None")])
def test_what_goes_out_of_one_node_comes_in_at_the_other_in_its_own_words(
    first: bool, file: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rails, "started", lambda step, number, address: f"{step.what} {number} {address}")
    out: Any = SimpleNamespace(what=rails.OUT, first_listens=False)
    rails._with(tmp_path, ["mlx5_0"], [[out]], first=first, address="10.0.0.7")
    assert {each.name: each.read_text() for each in (tmp_path / "mlx5_0").iterdir()} == {file: said}
