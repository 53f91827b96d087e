"""The files that machines hand to kubeadm, judged by the real one of the release that a rehearsal has."""

import subprocess
from pathlib import Path

import pytest
import yaml

from components.metal.kubeadm import DISCOVERY_FILE
from rehearsal.toolchain import ensure
from tests.stacks.test_metal import told

pytestmark = pytest.mark.engine


def validated(place: Path, text: str) -> subprocess.CompletedProcess[str]:
    """By `kubeadm config validate`, which asks for the file of `discovery` to be there."""
    known, file = place / "discovery.conf", place / "kubeadm.yaml"
    known.touch()
    file.write_text(text.replace(DISCOVERY_FILE, str(known)))
    words: list[str | Path] = [ensure(["kubeadm"])["kubeadm"], "config", "validate", "--config", file]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _with_patch(host: str) -> str:
    """A machine's kubelet patch beside the first machine's file: with a JoinConfiguration kubeadm reads none of it.

    Source: kubernetes, cmd/kubeadm/app/util/config/initconfiguration.go, documentMapToInitConfiguration.
    """
    first, kubelet = told("cp-1")["KUBEADM"], yaml.safe_load(told(host)["KUBELET"])
    kept = [each for each in yaml.safe_load_all(first) if each["kind"] != "KubeletConfiguration"]
    return yaml.safe_dump_all([*kept, kubelet], sort_keys=False, explicit_start=True)


@pytest.mark.parametrize(("host", "variable"), [("cp-1", "KUBEADM"), ("cp-2", "JOIN"), ("dgx-01", "JOIN")])
def test_kubeadm_takes_what_a_machine_is_told_and_no_misspelt_key(host: str, variable: str, tmp_path: Path) -> None:
    text = told(host)[variable]
    taken = validated(tmp_path, text)
    assert (taken.returncode, taken.stdout, taken.stderr) == (0, "ok\n", "")
    refused = validated(tmp_path, text.replace("criSocket:", "criSockett:"))
    assert refused.returncode == 1
    assert 'unknown field "nodeRegistration.criSockett"' in refused.stderr
    if variable == "KUBEADM" or host == "dgx-01":
        patched = _with_patch(host)
        assert validated(tmp_path, patched).stdout == "ok\n"
        misspelt = validated(tmp_path, patched.replace("maxPods:", "maxPodss:"))
        assert misspelt.returncode == 1
        assert 'unknown field "maxPodss"' in misspelt.stderr
