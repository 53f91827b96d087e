"""LF03, LF14: whose the buckets are that weights and datasets come from, and how long a dataset takes; ends of labs."""

import pytest

from planner.plan import plan
from planner.types import AwsPlan
from settings.load import from_sections
from settings.model import AwsSettings
from tests.planner.stacks import TODAY, planned, rules


def test_a_bucket_that_nobody_has_declared_is_refused_lf03() -> None:
    found = planned(changes={"storage.sources": [{"bucket": "acme-datasets"}]})
    (finding,) = found.errors
    assert (finding.rule, finding.path) == ("source-undeclared", "gpucluster:serving.services[0].weights")
    assert "add {bucket: acme-model-weights} to storage.sources" in finding.remedy


def test_sources_are_planned_with_owner_and_key_lf03_lf11() -> None:
    key = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    sources = [{"bucket": "acme-datasets", "owner": "111122223333", "keyArn": key}, {"bucket": "acme-model-weights"}]
    found = planned(changes={"storage.sources": sources}).sources
    assert [(each.owner, each.key_arn) for each in found.values()] == [("111122223333", key), (None, None)]


@pytest.mark.parametrize(("gb", "waits"), [(700, False), (703.2, True)])
def test_a_copy_of_more_than_an_hour_is_told_lf14(gb: float, waits: bool) -> None:
    """An m7i.xlarge keeps 12.5/32 x 4 Gb/s: 0.195 GB/s are 703.1 GB an hour."""
    source = {"name": "instructions", "gb": gb, "source": "s3://acme-datasets/instructions"}
    assert rules(planned(changes={"training.datasets": [source]})) == (["dataset-copy"] if waits else [])


@pytest.mark.parametrize(
    ("gb", "takes", "may_take"), [(20, 103, 3600), (175.7, 900, 3600), (175.8, 901, 7200), (700, 3584, 10_800)]
)
def test_a_copy_has_twice_its_time_and_half_an_hour_for_a_node_lf14(gb: float, takes: int, may_take: int) -> None:
    """At 0.195 GB/s, in whole hours: 2 x 900 s and 1800 s are one."""
    given = {"name": "instructions", "gb": gb, "source": "s3://acme-datasets/instructions"}
    found = planned(changes={"training.datasets": [given]}).datasets["instructions"]
    assert (found.copy_s, found.copy_seconds) == (takes, may_take)


def test_datasets_count_once_however_many_runs_read_them_lf14() -> None:
    """LF14: two runs that read 20 GB need 20 GB of the file system, and a dataset without a run needs its own."""
    base = planned()
    two = planned(changes={"training.runs": [_run("a"), _run("b")]})
    assert base.storage.needed_tb == two.storage.needed_tb == pytest.approx(0.02)
    more = {"name": "later", "gb": 30, "source": "s3://acme-datasets/later"}
    given = {"name": "instructions", "gb": 20, "source": "s3://acme-datasets/instructions"}
    assert planned(changes={"training.datasets": [given, more]}).storage.needed_tb == pytest.approx(0.05)


def test_a_dataset_that_does_not_fit_is_refused_lf14() -> None:
    """1200 GiB are 1.29 TB, of which nine tenths are usable."""
    given = {"name": "instructions", "gb": 1200, "source": "s3://acme-datasets/instructions"}
    assert "storage-capacity" in rules(planned(changes={"training.datasets": [given]}))


@pytest.mark.parametrize(("expiry", "found"), [(None, ["lab-without-expiry"]), ("2026-11-21", [])])
def test_a_lab_says_when_it_ends_lf03(expiry: str | None, found: list[str]) -> None:
    assert _lab(expiry) == found


def test_a_lab_past_its_day_is_refused_lf03() -> None:
    assert _lab("2026-11-20") == ["stack-expired"]


def _lab(expiry: str | None) -> list[str]:
    lifecycle = {"owner": "ml-platform", "costCentre": "courses", **({"expiry": expiry} if expiry else {})}
    cidrs = {"publicAccessCidrs": ["80.81.82.0/24"]}
    given = {"example": True, "preset": "lab-hybrid", "platform": cidrs, "lifecycle": lifecycle}
    settings = from_sections(given | ({"keeper": {}} if expiry else {}))
    assert isinstance(settings, AwsSettings)
    found: AwsPlan = plan(settings, today=TODAY)
    return rules(found)


def _run(name: str) -> dict[str, object]:
    return {
        "name": name,
        "pool": "training",
        "nodes": 1,
        "queue": "training",
        "image": "nvcr.io/nvidia/pytorch:26.06-py3",
        "script": ["train.py"],
        "dataset": {"name": "instructions"},
    }


SUMS = "ab" * 32


def test_weights_of_a_protected_stack_are_what_somebody_has_looked_at() -> None:
    production = planned("prod", {"waivers": []})
    (finding,) = (each for each in production.errors if each.rule == "weights-not-pinned")
    assert finding.path == "gpucluster:serving.services[0].weightsSha256"
    assert (finding.subject, "SHA256SUMS" in finding.remedy) == ("llama-3-70b", True)
    told = planned("prod", {"serving.services.0.weightsSha256": SUMS, "waivers": []})
    assert "weights-not-pinned" not in rules(told)
    assert told.services["llama-3-70b"].weights_sha256 == SUMS
    hub = planned("prod", {"serving.services.0.weights": f"hf://o/m@{'1' * 40}", "waivers": []})
    assert "weights-not-pinned" not in rules(hub)
    assert "weights-not-pinned" not in rules(planned())


@pytest.mark.parametrize("weights", [f"hf://o/m@{'1' * 40}", "pvc://models/llama"])
def test_a_digest_that_nothing_is_compared_with_is_refused(weights: str) -> None:
    changes = {"serving.services.0.weights": weights, "serving.services.0.weightsSha256": SUMS}
    (finding,) = (each for each in planned(changes=changes).errors if each.rule == "weights-sums-unused")
    assert finding.path == "gpucluster:serving.services[0].weightsSha256"
    assert finding.remedy.startswith("remove weightsSha256")


def test_a_snapshot_is_refused_where_none_is_made_s08() -> None:
    given = {"name": "instructions", "gb": 20, "source": "s3://acme-datasets/instructions", "snapshot": "2026-11"}
    (finding,) = planned(changes={"training.datasets": [given]}).errors
    assert (finding.rule, finding.path) == ("dataset-snapshot", "gpucluster:training.datasets[0].snapshot")
    assert "FSx for Lustre makes no snapshots" in finding.sentence
    assert "a prefix of its own as source" in finding.remedy
