"""The schedule that copies checkpoints to the object store (T01); its script runs in tests/rehearsed."""

from typing import Any

import pytest

from components.platform.jobs import schedule
from components.training.backup import script
from components.training.job import TrainingJob
from tests.components.samples import CLI, SAMPLES, built
from tests.components.samples.training import job_args


def spec() -> dict[str, Any]:
    return dict(built(SAMPLES["backup"]).one("sample-schedule").inputs["spec"])


@pytest.mark.parametrize(("hours", "words"), [(1, "0 */1 * * *"), (6, "0 */6 * * *"), (24, "0 0 * * *")])
def test_a_schedule_in_crons_words(hours: int, words: str) -> None:
    assert schedule(hours * 3600) == words


@pytest.mark.parametrize("hours", [0, 1.5, 5, 7, 25, 48])
def test_a_day_has_whole_parts(hours: float) -> None:
    """`0 */5 * * *` would be followed by four hours at midnight."""
    with pytest.raises(ValueError, match=f"a day is not a multiple of {hours} h"):
        schedule(round(hours * 3600))


def test_one_copy_at_a_time_that_ends_before_the_next() -> None:
    """2 h, as the row has it: a copy that hangs does not keep those to come from beginning."""
    assert (spec()["schedule"], spec()["concurrencyPolicy"]) == ("0 */2 * * *", "Forbid")
    assert spec()["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 7200


def test_the_copier_reads_what_the_run_writes_and_changes_nothing() -> None:
    pod = spec()["jobTemplate"]["spec"]["template"]["spec"]
    (copier,) = pod["containers"]
    (mount,) = copier["volumeMounts"]
    writer = built(lambda opts: TrainingJob("sample", job_args(), opts)).one("sample-job").inputs["spec"]
    (written,) = (
        each
        for each in writer["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["volumeMounts"]
        if each["name"] == "checkpoints"
    )
    assert mount == {**written, "readOnly": True}
    assert copier["command"] == ["sh", "-c", script(CLI)]
    assert pod["serviceAccountName"] == "sft"
    assert "nodeSelector" not in pod, "GPU nodes have no processor to spare"
