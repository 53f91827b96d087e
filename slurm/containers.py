"""Images of runs as Apptainer takes them, one definition for each."""

import re
from collections.abc import Mapping

from catalogue.versions import NCCL_TESTS
from planner.metal_types import MetalPlan


def file_name(image: str) -> str:
    """What an image's file is called, without an ending: registry.example.com/ml/trainer:1.0 is ml-trainer-1.0."""
    registry, slash, rest = image.partition("/")
    whole = rest if slash and ("." in registry or ":" in registry) else image
    return re.sub(r"[^A-Za-z0-9._-]+", "-", whole.partition("@")[0] if "@" in whole else whole)


def measuring(image: str) -> str:
    """The file of an image with nccl-tests in it."""
    return f"{file_name(image)}-nccl-tests"


def definitions(plan: MetalPlan) -> Mapping[str, str]:
    """Texts of definition files by name, those with nccl-tests for pools that are measured."""
    found = {}
    for run in plan.runs.values():
        image = plan.supply.image(run.image)
        found[file_name(image)] = _as_it_is(image)
        if plan.gates.get(run.pool):
            found[measuring(image)] = _with_tests(image)
    return found


def _as_it_is(image: str) -> str:
    return f"""\
# apptainer build {file_name(image)}.sif {file_name(image)}.def
Bootstrap: docker
From: {image}

%test
    command -v torchrun
"""


def _with_tests(image: str) -> str:
    """The same libraries as the runs': what is measured is what they will have. It needs the image's compilers."""
    return f"""\
# apptainer build {measuring(image)}.sif {measuring(image)}.def
Bootstrap: docker
From: {image}

%post
    git clone --depth 1 --branch {NCCL_TESTS} https://github.com/NVIDIA/nccl-tests /opt/nccl-tests
    make -C /opt/nccl-tests -j MPI=1 MPI_HOME="${{MPI_HOME:-/usr/local/mpi}}"

%environment
    export PATH="/opt/nccl-tests/build:$PATH"

%test
    test -x /opt/nccl-tests/build/all_reduce_perf
"""
