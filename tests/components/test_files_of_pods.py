"""What pods are given of `node/`: the scripts they start, and beside them what those import. A ConfigMap has no
directories, and a script that misses a module ends before its first line.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from components.aws.file_system_rates import rates_files
from components.kubeflow.pipeline_upload import upload_files
from components.metal.sensors import sensors_files
from components.monitoring.isolation import isolation_files
from components.platform.volumes_end import volumes_end_files
from components.training.follow_up import follow_up_files
from components.training.gate_pods import gate_files
from components.training.run_watch import watch_files
from components.training.staging import staging_files
from components.training.trainer import trainer_files

ROOT = Path(__file__).parents[2]
OURS = {*(path.stem for path in (ROOT / "node").rglob("*.py")), "redfish"}

STARTED: Mapping[Callable[[], dict[str, str]], tuple[str, ...]] = {
    follow_up_files: ("ask.py", "publish.py"),
    gate_files: ("gate.py", "measure.py", "expire.py", "publish.py"),
    rates_files: ("rates.py",),
    isolation_files: ("isolate.py", "publish.py"),
    sensors_files: ("sensors.py",),
    staging_files: ("stage.py",),
    trainer_files: ("train.py",),
    upload_files: ("upload.py",),
    volumes_end_files: ("volumes_end.py", "publish.py"),
    watch_files: ("watch.py", "publish.py"),
}


def imported(text: str) -> Iterator[str]:
    """Names of modules that a script imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("files", STARTED, ids=lambda files: files.__name__)
def test_what_a_script_imports_lies_beside_it(files: Callable[[], dict[str, str]]) -> None:
    given, wanted = files(), set(STARTED[files])
    while more := {f"{each}.py" for name in wanted for each in imported(given[name]) if each in OURS} - wanted:
        wanted |= more
    assert wanted <= set(given)
