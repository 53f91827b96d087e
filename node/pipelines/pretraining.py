"""The pre-training pipeline for Kubeflow Pipelines 2.17: the steps of pipeline.py, each in a pod of its own.

`python pretraining.py --claim=CLAIM --scripts=CONFIGMAP --into=FILE.yaml` and pipeline.py's own words compile it, with
the library kfp[kubernetes] 2.17. Its one parameter is `work`, a directory below the claim for each run of it. What
was done stands in that directory, so the cache of Kubeflow Pipelines is off: it knows neither hashes nor saves.
"""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pipeline
from kfp import compiler, dsl, kubernetes

SCRIPTS, SHARED = "/opt/gpucluster/pipelines", "/checkpoints"
RUN, STARTER, TOKEN = "/opt/gpucluster/run", "/opt/gpucluster/starter", "pipeline-starter-token"
"""Where the step that trains finds the job of a run, and the Secret of who may make it (starting.py)."""
_WORK = Path("/@work@")
_CORES, _MEMORY = "4", "16Gi"
"""What a pod of a step may take; pods that train are those of a job, not of the pipeline."""


def parser() -> argparse.ArgumentParser:
    """What compiling is told before the pipeline's own words."""
    made = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    made.add_argument("--claim", default="checkpoints", help=f"claim with the work directories, at {SHARED}")
    made.add_argument("--data-claim", default="training-data", help="claim with the documents, at /data")
    made.add_argument("--scripts", default="pipeline-scripts", help="ConfigMap with the files of this directory")
    made.add_argument("--starts", help="run of the stack that the training step starts, instead of --train")
    made.add_argument("--into", type=Path, required=True)
    return made


def component(step: str, image: str, words: Sequence[str]) -> Callable[..., Any]:
    """The component of a step: its script and words, below the directory `work`."""

    def made(work: str) -> dsl.ContainerSpec:
        told = [each.replace(str(_WORK), f"{SHARED}/{work}") for each in words]
        return dsl.ContainerSpec(image=image, command=["python3", f"{SCRIPTS}/{step}.py"], args=told)

    made.__name__ = step
    found: Callable[..., Any] = dsl.container_component(made)
    return found


def composed(own: argparse.Namespace, asked: argparse.Namespace) -> Any:
    """The pipeline, each step after the one before. Raises ValueError for an image without a digest."""
    if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", asked.image):
        raise ValueError(f"--image is {asked.image}; use its digest (NAME@sha256:...), since a tag may move")
    steps = [component(step, asked.image, words) for step, words in pipeline.words(asked).items()]

    def pretraining(work: str) -> None:
        last = None
        for each in steps:
            task = each(work=work)
            kubernetes.mount_pvc(task, pvc_name=own.claim, mount_path=SHARED)
            kubernetes.mount_pvc(task, pvc_name=own.data_claim, mount_path="/data")
            kubernetes.use_config_map_as_volume(task, config_map_name=own.scripts, mount_path=SCRIPTS)
            if own.starts and each is steps[pipeline.STEPS.index("training")]:
                kubernetes.use_config_map_as_volume(task, config_map_name=f"run-{own.starts}", mount_path=RUN)
                kubernetes.use_secret_as_volume(task, secret_name=TOKEN, mount_path=STARTER)
            task.set_caching_options(False).set_cpu_limit(_CORES).set_memory_limit(_MEMORY)
            if last is not None:
                task.after(last)
            last = task

    return dsl.pipeline(name="pretraining", description=f"commit {asked.commit}")(pretraining)


def main(said: Sequence[str]) -> int:
    """Compiles; 1 with a sentence for what cannot be."""
    own, rest = parser().parse_known_args(said)
    trains = f"--train=python3 {SCRIPTS}/starting.py --data={{data}} --saves={{saves}}"
    asked = pipeline.parser().parse_args([*rest, *([trains] if own.starts else []), f"--work={_WORK}"])
    try:
        compiler.Compiler().compile(composed(own, asked), str(own.into))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
