"""The pipeline as kfp 2.17 compiles it: the same steps with the same words, which test_pipelines.py runs.

kfp wants other versions of protobuf than this program, so it is asked in another interpreter.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pipeline
import yaml

from tests.partners import KFP

LOOK = """
import json, sys, yaml
from google.protobuf.json_format import ParseDict
from kfp.components import load_component_from_file
from kfp.kubernetes import kubernetes_executor_config_pb2 as kubernetes
from kfp.pipeline_spec.pipeline_spec_pb2 import PipelineSpec, PlatformSpec
spec, platform = yaml.safe_load_all(open(sys.argv[1]))
ParseDict(spec, PipelineSpec())
ParseDict(platform, PlatformSpec())
for each in platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"].values():
    ParseDict(each, kubernetes.KubernetesExecutorConfig())
loaded = load_component_from_file(sys.argv[1])
print(json.dumps([loaded.name, sorted(loaded.component_spec.inputs)]))
"""
"""A field or a type that the messages of kfp-pipeline-spec 2.17 and kfp-kubernetes do not have ends in ParseError."""
IMAGE = "registry.example/trainer@sha256:" + "d" * 64
ASKED = {
    "source": "/data/documents",
    "sequence-length": "64",
    "vocab": "257",
    "shards": "4",
    "commit": "c" * 40,
    "image": IMAGE,
    "experiment": "sft",
    "stack": "dev",
    "tracker": "http://mlflow.tracking.svc:5000",
    "model": "chat",
    "kept-at": "s3://artefacts/checkpoints/sft",
    "train": "torchrun train.py --data-dir={data} --checkpoint-dir={saves}",
    "evaluate": "python loss.py {save} {data}",
}


def compiled(into: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    words = [f"--{name}={value}" for name, value in {**ASKED, **changes}.items()]
    said = [sys.executable, "-m", "tests.partners.compile", f"--into={into}", "--claim=saves", *words]
    return subprocess.run(said, capture_output=True, text=True, check=False, timeout=600)


def test_kfp_compiles_the_steps_in_their_order_with_their_words(tmp_path: Path) -> None:
    done = compiled(tmp_path / "p.yaml")
    assert done.returncode == 0, done.stderr[-2000:]
    spec, platform = yaml.safe_load_all((tmp_path / "p.yaml").read_text(encoding="utf-8"))
    assert spec["sdkVersion"] == "kfp-2.17.0"
    tasks: dict[str, Any] = spec["root"]["dag"]["tasks"]
    after = {name: task.get("dependentTasks", []) for name, task in tasks.items()}
    order = list(pipeline.STEPS)
    assert after == {step: order[max(0, at - 1) : at] for at, step in enumerate(order)}
    assert [task["cachingOptions"] for task in tasks.values()] == [{}] * len(order)
    wanted = pipeline.words(
        pipeline.parser().parse_args(["--work=/w", *(f"--{name}={value}" for name, value in ASKED.items())])
    )
    for step in order:
        container = spec["deploymentSpec"]["executors"][f"exec-{step}"]["container"]
        assert container["image"] == IMAGE
        assert container["command"] == ["python3", f"/opt/gpucluster/pipelines/{step}.py"]
        told = [each.replace("/checkpoints/{{$.inputs.parameters['work']}}", "/w") for each in container["args"]]
        assert told == wanted[step]
        mounts = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"][f"exec-{step}"]["pvcMount"]
        assert {each["constant"]: each["mountPath"] for each in mounts} == {
            "saves": "/checkpoints",
            "training-data": "/data",
        }


def test_kfps_own_loader_and_its_schemas_take_it(tmp_path: Path) -> None:
    assert compiled(tmp_path / "p.yaml").returncode == 0
    done = subprocess.run(
        [KFP.python(), "-c", LOOK, str(tmp_path / "p.yaml")],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == ["pretraining", ["work"]]


def test_an_image_without_a_digest_is_refused(tmp_path: Path) -> None:
    done = compiled(tmp_path / "p.yaml", image="registry.example/trainer:latest")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: --image is registry.example/trainer:latest; use its digest (NAME@sha256:...)" in done.stderr
    assert not (tmp_path / "p.yaml").exists()
