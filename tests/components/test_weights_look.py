"""The look beside the copy of weights: an empty source fails there, with a sentence (Q05)."""

import subprocess
from pathlib import Path

import pytest

from components.storage.staged import look_script
from tests.components.samples import CLI, SAMPLES, built

SOURCE = "s3://models/it's here"


@pytest.mark.parametrize(("status", "said"), [(0, ""), (1, f"no object lies below {SOURCE}/")])
def test_an_empty_source_fails_and_says_so(tmp_path: Path, status: int, said: str) -> None:
    cli = tmp_path / "aws"
    cli.write_text(f'#!/bin/sh\necho "$@" >&3\nexit {status}\n')
    cli.chmod(0o755)
    words = ["sh", "-c", f"exec 3>{tmp_path / 'asked'}; {look_script(CLI, SOURCE)}"]
    done = subprocess.run(words, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, timeout=10)
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith(said)
    assert (tmp_path / "asked").read_text() == f"s3 ls {SOURCE}/\n"


def test_the_look_fails_the_copys_pod_and_both_say_why_they_failed() -> None:
    pod = built(SAMPLES["weights"]).one("sample-copy").inputs["spec"]["template"]["spec"]
    copy, look = pod["containers"]
    assert look["command"][:2] == ["sh", "-c"]
    assert {each["terminationMessagePolicy"] for each in (look, copy)} == {"FallbackToLogsOnError"}
    assert look["image"] == copy["image"]


def test_a_copy_that_is_given_up_leaves_its_pods_to_look_at() -> None:
    """A Job deletes the pods that it restarts in place, and their messages, when it has had enough."""
    spec = built(SAMPLES["weights"]).one("sample-copy").inputs["spec"]
    assert (spec["template"]["spec"]["restartPolicy"], spec["backoffLimit"]) == ("Never", 3)
