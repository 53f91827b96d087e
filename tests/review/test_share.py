"""The bench compares a comment with a preview under the same conditions."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench import __main__ as bench

SECONDS = {"pack": 100.0, "preview": 10.0, "review": 12.0}


def test_a_comment_is_measured_beside_a_preview_fairly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies' environment first and unmeasured, a home for each run, and either command once before the other."""
    ran: list[tuple[str, str]] = []
    clock = 0.0

    def run(words: Sequence[str], env: Mapping[str, str] | None = None, **_: Any) -> None:
        nonlocal clock
        (what,) = SECONDS.keys() & {*words}
        ran.append((what, (env or {}).get("GPUCLUSTER_HOME", "")))
        clock += SECONDS[what] * (2 if len(ran) == 2 else 1)  # the first of all finds cold caches

    monkeypatch.setattr(bench, "time", SimpleNamespace(monotonic=lambda: clock))
    monkeypatch.setattr(bench, "subprocess", SimpleNamespace(run=run))
    figure = bench.review_share()
    assert [what for what, _ in ran] == ["pack", "preview", "review", "review", "preview"]
    assert len({home for _, home in ran[1:]}) == 4
    assert (figure.value, figure.budget) == (12 / 15, 1.3)
    assert figure.how.startswith("12 s with policies against 15 s for the preview alone, twice each")
