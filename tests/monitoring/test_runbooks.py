"""Pages of the table: fresh, and each with what a stranger needs at night."""

from pathlib import Path

import pytest

from monitoring import runbooks
from monitoring.failure import Failure
from monitoring.failures import failures


def test_the_committed_pages_are_those_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert runbooks.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_stale_pages_are_named_written_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runbooks, "PAGES", tmp_path)
    (tmp_path / "forgotten.md").write_text("of a failure that is gone")
    assert runbooks.main(["--check"]) == 1
    assert "docs/runbooks/forgotten.md is out of date with monitoring/failures" in capsys.readouterr().out
    assert runbooks.main([]) == 0
    assert not (tmp_path / "forgotten.md").exists()
    assert len(list(tmp_path.iterdir())) == len(list(failures())) + 1
    assert runbooks.main(["--check"]) == 0
    assert runbooks.main(["--wrong"]) == 2


@pytest.mark.parametrize("failure", list(failures()), ids=lambda failure: str(failure.id))
def test_a_page_tells_what_to_do(failure: Failure) -> None:
    page = runbooks.page(failure)
    for heading in ("What you see", "What it means", "What to do first", "When it is over"):
        assert f"\n## {heading}\n" in page
    assert "{{" not in page
    assert page.count("\n   ```sh\n") + page.count("\n   ```promql\n") == 3


def test_a_page_names_its_numbers_and_who_says_so() -> None:
    page = runbooks.pages()["gpu-hot.md"]
    assert "> GPU {gpu} of node {node} has been at {value} C, or within {value} C of its slowdown threshold for" in page
    assert "| celsius | 85 C | requirement H14 as corrected by HW17" in page
    assert "gpucluster:gpu:temperature_celsius >= 85" in page
    assert "monitoring.alerts.thresholds" in page


def test_the_index_leads_from_a_symptom_to_its_page() -> None:
    index = runbooks.pages()["README.md"]
    assert "| NCCL timeout | [Ranks of a training run failed](run-failed.md) |" in index
    assert "| [A GPU is near its temperature limit](gpu-hot.md) | `GpuHot` | warning | hardware |" in index
