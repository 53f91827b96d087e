"""Which nodes of a pool are measured together, and what a gate's program does with a verdict (P16-P19)."""

from __future__ import annotations

import argparse
import json
import signal
import ssl
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gate
import measure
import publish
import pytest
import railed
import rails
from results import Clock, Copy, Row, nccl_rows
from verdicts import Verdict, clock, storage

from components.platform.hyper_nodes import RACK_KEY, UNIT_KEY
from rehearsal.testing.answering import Asked, Said, answering


class Store:
    """Where nodes meet (torch.distributed.TCPStore), as one of them sees it; nobody waits."""

    def __init__(self, **said: str) -> None:
        self.said = {key.replace("_", "/"): value.encode() for key, value in said.items()}

    def set(self, key: str, value: str) -> None:
        self.said[key] = value.encode()

    def get(self, key: str) -> bytes:
        return self.said[key]

    def check(self, keys: list[str]) -> bool:
        return all(each in self.said for each in keys)

    def wait(self, keys: list[str], _: Any) -> None:
        assert self.check(keys), "nobody says it"


def test_the_first_node_says_who_is_well_and_whoever_does_not_come_is_left_out() -> None:
    store = Store(node_1="well", node_2="ill")
    assert measure.meet(store, 0, range(4), healthy=True, seconds=0.01) == [0, 1]
    assert measure.meet(store, 1, range(4), healthy=True, seconds=0.01) == [0, 1]
    assert store.said["node/0"] == b"well"


def test_nobody_is_well_where_the_first_node_alone_came_and_is_ill() -> None:
    store = Store()
    assert measure.meet(store, 0, range(2), healthy=False, seconds=0.01) == []
    assert measure.meet(store, 1, range(2), healthy=True, seconds=0.01) == []
    assert store.said["node/1"] == b"well"


@pytest.mark.parametrize(
    ("line", "word", "left"),
    [
        (None, "well", [0, 2]),
        (Verdict("rails", "pass", ""), "well", [0, 2]),
        (Verdict("rails", "warn", ""), "well", [0, 2]),
        (Verdict("rails", "fail", "rail 3"), "ill", [2]),
    ],
)
def test_a_node_whose_rails_fail_is_not_among_those_measured_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: Verdict | None, word: str, left: list[int]
) -> None:
    """It is said under another word than that of the first meeting, so that nobody reads the older one."""
    (tmp_path / rails.ASKED).write_text(json.dumps({"seconds": 0.01}), encoding="utf-8")
    monkeypatch.setattr(rails, "measure", lambda *_: None)
    monkeypatch.setattr(railed, "of_node", lambda *_: line)
    store = Store(node_who="0,2", rails_2="well")
    asked = argparse.Namespace(out=tmp_path, index=0, system=tmp_path)
    assert measure.by_rails(store, asked, [0, 2]) == left
    assert store.said["rails/0"].decode() == word


def test_rails_are_not_measured_unless_the_plan_asks_and_two_are_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rails, "measure", lambda *_: pytest.fail("nobody asked for it"))
    asked = argparse.Namespace(out=tmp_path, index=0, system=tmp_path)
    assert measure.by_rails(Store(), asked, [0, 1]) == [0, 1]
    (tmp_path / rails.ASKED).write_text("{}", encoding="utf-8")
    assert measure.by_rails(Store(), asked, [0]) == [0]


def test_what_is_timed_is_told_as_nccl_tests_tells_it() -> None:
    """1 GiB in 5 ms among 8 ranks, with three results that were wrong."""
    text = measure.table("all_reduce", 1 << 30, 8, 0.005, 3)
    assert nccl_rows(text) == [Row(1 << 30, 375.81, 3)], "214.75 GB/s, 2 x 7/8 times"


def test_neighbours_are_paired_and_a_last_odd_one_has_none() -> None:
    assert measure.pairs(range(5)) == [[0, 1], [2, 3]]
    assert measure.asked_for(["all_reduce:2:8589934592"]) == [("all_reduce", 2, 8 << 30)]


@pytest.mark.parametrize(("mhz", "state"), [(1700, "pass"), (1699, "warn"), (1400, "warn"), (1399, "fail")])
def test_a_clock_below_85_percent_warns_and_below_70_fails(mhz: float, state: str) -> None:
    assert clock([Clock(0, 2000, 2000, 700, 700), Clock(1, mhz, 2000, 700, 700)], 2).state == state


@pytest.mark.parametrize(
    ("wrote", "read", "state", "words"),
    [
        (1.0, 1.0, "pass", "writes 1 GB/s, reads 1 GB/s"),
        (1.01, 1.0, "warn", "writes 0.99 GB/s, reads 1 GB/s; planned writes 2 GB/s"),
        (1.0, 2.0, "warn", "writes 1 GB/s, reads 0.5 GB/s; planned reads 2 GB/s"),
        (2.0, 2.0, "warn", "writes 0.5 GB/s, reads 0.5 GB/s; planned writes 2 and reads 2 GB/s"),
    ],
)
def test_less_than_half_of_the_planned_rate_of_the_file_system_warns(
    wrote: float, read: float, state: str, words: str
) -> None:
    size, planned = 1_000_000_000, {"write_gb_per_s": 2.0, "read_gb_per_s": 2.0}
    assert storage(Copy(size, wrote), Copy(size, read), size, planned) == Verdict("storage", state, words)
    short = storage(Copy(size, wrote), Copy(size - 1, read), size, planned)
    assert short.why == "1000000000 bytes were written and 999999999 read, not 1000000000"
    assert short.state == "fail"


LABELS: dict[str, str] = {}
"""Of the node, as the API server has them."""
PLAN = {"pool": "big", "digest": "ab12", "tests": [], "provider": ""}
Gate = Callable[..., int]


@pytest.fixture
def told() -> list[Asked]:
    """What the API server was asked to change."""
    return []


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: list[Asked]) -> Iterator[Gate]:
    """The gate's program on a node that measures these lines alone, and with others."""
    monkeypatch.setenv("NODE_NAME", "n-1")
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "3")
    monkeypatch.setattr(signal, "pause", lambda: told.append(Asked("PAUSE", "", None, b"")))
    monkeypatch.setattr("gate.time.sleep", lambda seconds: told.append(Asked("WAIT", f"{seconds:.1f}", None, b"")))
    (tmp_path / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    status = {"PATCH": 200}

    def answer(asked: Asked) -> Said:
        if asked.method == "GET":
            return Said({"metadata": {"resourceVersion": "7", "labels": LABELS}, "spec": {}})
        told.append(asked)
        return Said({"message": "no"}, status[asked.method])

    def begin(alone: str, *words: str, refuses: bool = False, driver: str = " 580.1 \n580.1\n") -> int:
        status["PATCH"] = 403 if refuses else 200

        def by_itself(plan: Any, _: Path, *, system: Path) -> list[Verdict]:
            return [Verdict("clocks", alone, f"{plan == PLAN} {system!r}")]

        monkeypatch.setattr(gate, "alone", by_itself)

        def between(plan: Any, _: Path, who: tuple[str, ...], **__: Any) -> list[Verdict]:
            return [Verdict(" ".join(who), "warn", plan["pool"])]

        monkeypatch.setattr(gate, "between", between)
        monkeypatch.setattr(gate, "tool", lambda *_, **__: driver)
        common = [f"--plan={tmp_path / 'plan.json'}", f"--identity={tmp_path}", "--config-map=verdicts"]
        return gate.main([*common, *words])

    with answering(answer) as where:
        api = publish.Api(f"http://{where}", "token", "training", None)
        monkeypatch.setattr(publish.Api, "inside", lambda place: api if isinstance(place, Path) else None)
        yield begin


def kept(told: list[Asked]) -> dict[str, Any]:
    """The verdict as it was told."""
    wait, first, node = told[:3]
    assert (wait.method, wait.path) == ("WAIT", "0.6"), "the fourth of the nodes that end together"
    assert (first.path, node.path) == ("/api/v1/namespaces/training/configmaps/verdicts", "/api/v1/nodes/n-1")
    found: dict[str, Any] = json.loads(first.content["data"]["n-1"])
    assert node.content["metadata"]["labels"]["gpucluster/gate"] == found["state"]
    return found


def test_a_node_that_is_well_is_measured_with_the_others_and_tells_the_worst(start: Gate, told: list[Asked]) -> None:
    assert start("pass", "--peer=gate-0.gate:29400", "--system=/cards") == 0
    found = kept(told)
    assert [each["test"] for each in found["lines"]] == ["clocks", "--peer gate-0.gate:29400 --index 3 --healthy"]
    assert (found["state"], found["driver"], found["tests"]) == ("warn", "580.1", "ab12")
    assert [each["why"] for each in found["lines"]] == ["True PosixPath('/cards')", "big"], "both are told the plan"


def test_a_machine_that_is_labelled_with_its_rack_is_named_with_it(
    start: Gate, told: list[Asked], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The labels are the program's; without them a node is its name alone."""
    assert start("fail") == 0
    assert "place" not in kept(told)
    assert capsys.readouterr().out.endswith("node n-1: fail\n")
    told.clear()
    monkeypatch.setitem(LABELS, RACK_KEY, "r1")
    assert start("fail") == 0
    assert kept(told)["place"] == "rack r1"
    told.clear()
    monkeypatch.setitem(LABELS, UNIT_KEY, "12")
    assert start("fail") == 0
    assert kept(told)["place"] == "rack r1, unit 12"
    assert capsys.readouterr().out.endswith("node n-1 (rack r1, unit 12): fail\n")


def test_a_node_that_cannot_be_read_is_named_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(publish.Api, "ask", lambda *_: (_ for _ in ()).throw(publish.BusyError("not now")))
    monkeypatch.setattr(publish.Api, "inside", lambda _: publish.Api("http://none", "token", "training", None))
    assert publish.place_of(tmp_path, "n-1") == ""
    monkeypatch.undo()
    assert publish.place_of(tmp_path, "n-1") == "", "without an account"


def test_an_ill_node_says_so_to_the_others_and_their_lines_are_not_its_own(start: Gate, told: list[Asked]) -> None:
    assert start("fail", "--peer=gate-0.gate:29400", driver="") == 0
    found = kept(told)
    assert [each["test"] for each in found["lines"]] == ["clocks"]
    assert (found["state"], found["driver"]) == ("fail", "unknown")


def test_a_newcomer_is_measured_alone_and_stays_until_its_pod_is_taken_away(start: Gate, told: list[Asked]) -> None:
    assert start("warn") == 0
    assert [each["test"] for each in kept(told)["lines"]] == ["clocks"]
    assert told[-1].method == "PAUSE"


def test_a_verdict_that_cannot_be_told_is_tried_again_by_the_job(
    start: Gate, told: list[Asked], capsys: pytest.CaptureFixture[str]
) -> None:
    assert start("pass", refuses=True) == 1
    assert [each.method for each in told] == ["WAIT", "PATCH"], "what decides comes after what is kept"
    assert "the result could not be published: /api/v1/namespaces/training/configmaps/verdicts: no" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("of", ["/api/v1/nodes/n-1", "/api/v1/namespaces/training/configmaps/verdicts"])
@pytest.mark.parametrize(
    "error",
    [
        publish.ConflictError("the object has been modified"),
        publish.BusyError("too many requests"),
        TimeoutError("The read operation timed out"),
        ConnectionResetError("reset by peer"),
        urllib.error.URLError("connection refused"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_gets_no_answer_ten_times_is_given_up(monkeypatch: pytest.MonkeyPatch, of: str, error: OSError) -> None:
    """256 gates end in the same seconds and change one ConfigMap. Waits get longer, and are left to chance."""
    api, left, waits = publish.Api("", "", "training", None), [0], list[float]()

    def ask(_: Any, method: str, path: str, __: Any = None) -> dict[str, Any]:
        if method == "PATCH" and path == of and left[0]:
            left[0] -= 1
            raise error
        return {"metadata": {"resourceVersion": "7"}, "spec": {}}

    monkeypatch.setattr(publish.Api, "ask", ask)
    monkeypatch.setattr("publish.time.sleep", waits.append)
    monkeypatch.setattr("publish.random.uniform", lambda _, most: most)
    verdict = {"state": "pass", "tests": "a", "driver": "1", "at": "now"}
    left[0] = 9
    publish.tell(api, "n-1", "verdicts", verdict)
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30, 30]
    left[0] = 10
    with pytest.raises(type(error)):
        publish.tell(api, "n-1", "verdicts", verdict)


@pytest.mark.parametrize(
    ("host", "address"), [("172.20.0.1", "https://172.20.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_a_pod_reaches_the_api_server_as_kubernetes_tells_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, address: str
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(ssl, "create_default_context", lambda *, cafile: cafile)
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    (tmp_path / "namespace").write_text("training\n", encoding="utf-8")
    api = publish.Api.inside(tmp_path)
    assert api == publish.Api(address, "secret", "training", f"{tmp_path}/ca.crt")  # type: ignore[arg-type]
