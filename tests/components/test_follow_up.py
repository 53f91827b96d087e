"""Evaluations and exports as they are registered; what asks runs in tests/node/test_follow_up.py."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from components.training.follow_up import FollowUp, follow_up_files
from components.training.follow_up_rights import rules
from tests.components.samples import built
from tests.components.samples.training import follow_up_args
from tests.graph.harness import Recorded


def graph(**changes: Any) -> Recorded:
    return built(lambda opts: FollowUp("sample", follow_up_args(**changes), opts))


def manifest(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(graph(**changes).one("sample-script").inputs["data"]["job.json"])
    return found


def pod(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest(**changes)["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    return found


def test_a_job_reads_checkpoints_and_writes_beside_them_only() -> None:
    (container,) = pod()["containers"]
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    assert (mounts["/checkpoints"]["subPath"], mounts["/checkpoints"]["readOnly"]) == ("checkpoints/sft", True)
    assert mounts["/results"]["subPath"] == "results/sft/evaluate"


def test_a_job_comes_to_measured_nodes_where_there_are_gates() -> None:
    assert "affinity" not in pod()
    assert "gpucluster/gate" in json.dumps(pod(measured=True)["affinity"])


def test_what_asks_takes_no_gpu_and_waits_for_the_end_of_a_run() -> None:
    often, once = graph().one("sample-schedule"), graph(after_end=True, every_seconds=900).one("sample-schedule")
    assert often.inputs["spec"]["schedule"] == "0 */6 * * *"
    assert once.inputs["spec"]["schedule"] == "*/15 * * * *"
    asker = once.inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert "--after=sft" in asker["containers"][0]["args"]
    assert "--after=sft" not in json.dumps(often.inputs)
    assert "nodeSelector" not in asker
    assert "nvidia.com/gpu" not in json.dumps(asker)


def test_what_asks_makes_jobs_of_its_follow_up_alone() -> None:
    found = graph()
    (rights,) = found.of_type("Role")
    verbs = {each["resources"][0]: (each["verbs"], each.get("resourceNames")) for each in rights.inputs["rules"]}
    assert verbs == {
        "pytorchjobs": (["get", "list", "create"], None),
        "configmaps": (["get", "patch"], ["sft-evaluate"]),
    }
    policy = found.one("sample-policy").inputs["spec"]
    assert policy["matchConditions"][0]["expression"].endswith("'system:serviceaccount:training:sft-evaluate-asks'")
    assert [each["message"] for each in policy["validations"]] == list(
        rules("sft-evaluate", "sft-evaluate", "trainer:1")
    )
    assert found.one("sample-policy-binding").urn in rights.depends_on


def test_the_pods_files_are_all_that_the_script_imports(tmp_path: Path) -> None:
    for name, text in follow_up_files().items():
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ask"]
    subprocess.run(words, check=True)
