"""LF03, LF14: whose the buckets are, how long a dataset takes, ends of labs, values that documentation uses."""

import pytest

from planner.plan import plan
from planner.rules.supply import placeholders
from planner.types import AwsPlan
from settings.load import from_sections
from settings.model import AwsSettings
from settings.presets import preset_names
from tests.planner.stacks import TODAY, planned, planned_metal, rules, sections


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


def test_what_is_compared_is_read_once_more_by_one_process_i03() -> None:
    """700 GB at 0.195 GB/s, then at 0.3: the copy's Job has time for both."""
    given = {"name": "instructions", "gb": 700, "source": "s3://acme-datasets/instructions", "sha256": SUMS}
    found = planned(changes={"training.datasets": [given]}).datasets["instructions"]
    assert (found.copy_s, found.copy_seconds, found.sha256) == (3584 + 2334, 14_400, SUMS)


def test_a_digest_of_a_dataset_that_is_not_copied_is_refused_i03() -> None:
    given = {"name": "web-text", "gb": 700, "path": "corpora/web"}
    found = planned_metal({"training.datasets": [given]})
    assert "dataset-sums-unused" not in rules(found)
    assert found.datasets["web-text"].path == "corpora/web"
    (finding,) = (
        each
        for each in planned_metal({"training.datasets": [{**given, "sha256": SUMS}]}).errors
        if each.rule == "dataset-sums-unused"
    )
    assert (finding.path, finding.subject) == ("gpucluster:training.datasets[0].sha256", "web-text")
    assert finding.remedy.startswith("remove it, or add source")


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


OWN = {
    "example": False,
    "platform.publicAccessCidrs": ["80.81.82.0/24"],
    "budget.alerts.emails": ["ml@team-a.net"],
    "storage.sources": [{"bucket": "team-a-models"}, {"bucket": "team-a-text"}],
    "training.datasets.0.source": "s3://team-a-text/instructions",
    "serving.services.0.weights": "s3://team-a-models/llama-3-8b",
    "training.runs.0.image": "registry.team-a.net/ml/llama-trainer:1.0",
    "catalogue.images.0.name": "registry.team-a.net/ml/llama-trainer",
}
"""The dev stack as somebody deploys it."""


def test_a_stack_of_ones_own_has_none_lf03() -> None:
    assert rules(planned(changes=OWN)) == []


def test_the_shipped_stack_without_its_mark_is_refused_with_every_path_lf03() -> None:
    """All of them in one table, each with what to type, before anything is registered."""
    found = [each for each in planned(changes={"example": False}).errors if each.rule == "placeholder"]
    assert {each.path for each in found} == {
        "gpucluster:platform.publicAccessCidrs[0]",
        "gpucluster:training.datasets[0].source",
        "gpucluster:serving.services[0].weights",
        "gpucluster:storage.sources[0].bucket",
        "gpucluster:storage.sources[1].bucket",
        "gpucluster:training.runs[0].image",
        "gpucluster:catalogue.images[0].name",
        "gpucluster:budget.alerts.emails[0]",
    }
    assert all("gpucluster:example: true" in each.remedy for each in found)


@pytest.mark.parametrize("stack", ["dev", "prod", "lab"])
def test_shipped_stacks_are_marked_and_need_their_marks_lf03(stack: str) -> None:
    assert sections(stack)["example"] is True
    assert rules(planned(stack)) == []
    assert "placeholder" in rules(planned(stack, {"example": False}))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("platform.publicAccessCidrs", ["203.0.113.7/32"]),
        ("platform.publicAccessCidrs", ["80.81.82.0/24", "198.51.100.0/25"]),
        ("platform.publicAccessCidrs", ["192.0.2.0/24"]),
        ("platform.accountId", "123456789012"),
        ("platform.accountId", "000000000000"),
        ("platform.roleArn", "arn:aws:iam::111122223333:role/deployer"),
        ("security.adminArns", ["arn:aws:iam::444455556666:user/ada"]),
        ("serving.services.0.weights", "s3://my-bucket/llama"),
        ("serving.services.0.weights", "s3://weights.example.com/llama"),
        ("serving.services.0.image", "registry.example.com/vllm:v0.29.0"),
        ("training.runs.0.image", "registry.example/trainer:v1"),
        ("training.runs.0.image", "ghcr.io/acme/trainer:v1"),
        ("training.runs.0.image", "ghcr.io/your-org/trainer:v1"),
        ("training.runs.0.script", ["train.py", "--proxy=[2001:db8::1]:3128"]),
        ("lifecycle.owner", "changeme"),
        ("serving.services.0.weights", "s3://example-models/llama"),
        ("storage.sources", [{"bucket": "team-a-models", "owner": "777788889999"}, {"bucket": "team-a-text"}]),
    ],
)
def test_values_of_documentation_lf03(path: str, value: object) -> None:
    found = [each for each in planned(changes={**OWN, path: value}).errors if each.rule == "placeholder"]
    assert len(found) == 1
    assert found[0].path.startswith(f"gpucluster:{path.replace('.0.', '[0].')}")


@pytest.mark.parametrize(
    "text",
    [
        *("10.64.0.0/16", "203.0.114.0/24", "1203.0.113.0", "210210210210", "1234567890123"),
        *("s3://acmes/x", "s3://team-examples-of-text/x", "nvcr.io/nvidia/pytorch:26.06-py3", "/opt/examples.py"),
        *("exemplary.com/x:1", "contest.io/x:1", "s3://mybucket-7f3a/x", "vllm/vllm-openai:v0.29.0", "latest.test1"),
    ],
)
def test_values_that_may_be_somebodys_lf03(text: str) -> None:
    assert list(placeholders({"a": [{"b": text}]})) == []


def test_sentences_may_speak_of_anything_lf03() -> None:
    assert list(placeholders({"waivers": [{"reason": "as in the documentation of example.com"}]})) == []
    assert list(placeholders({"catalogue": [{"source": "the quotation of acme"}]})) == []
    assert len(list(placeholders({"datasets": [{"source": "s3://acme/text"}]}))) == 1


@pytest.mark.parametrize("name", [name for name in preset_names() if name in ("h100-8n", "h100-8n-cloud")])
def test_presets_lend_no_bucket_lf03(name: str) -> None:
    lifecycle = {"owner": "ml-platform", "costCentre": "research"}
    found = plan(from_sections({"preset": name, "lifecycle": lifecycle}), today=TODAY)
    assert "placeholder" in {each.rule for each in found.errors}
