"""`local_kfp.py FILE SCRIPTS WORK`: a compiled pipeline by kfp's own local runner, each step a process; needs kfp 2.17.

Its SubprocessRunner refuses steps that are containers (kfp.local.subprocess_task_handler). Here it takes them: the
image is this machine, and what pods mount lies at SCRIPTS and beside WORK.
"""

import re
import sys
from pathlib import Path

from kfp import components, local
from kfp.local import subprocess_task_handler
from kfp.local.pipeline_orchestrator import run_local_pipeline
from kfp.local.status import Status

FILE, SCRIPTS, WORK = map(Path, sys.argv[1:])
MOUNTS = {r"^/opt/gpucluster/pipelines": str(SCRIPTS), r"(?<!\w)/checkpoints(?=/)": str(WORK.parent)}


class Processes(subprocess_task_handler.SubprocessTaskHandler):  # type: ignore[misc]  # kfp is not installed here
    """Runs the words of containers on this machine."""

    full_command: list[str]

    def validate_not_container_component(self, full_command: list[str]) -> None:
        """Refuses nothing."""

    def run(self) -> Status:
        for mounted, there in MOUNTS.items():
            self.full_command = [re.sub(mounted, there, word) for word in self.full_command]
        return super().run()


subprocess_task_handler.SubprocessTaskHandler = Processes
local.init(local.SubprocessRunner(use_venv=False), pipeline_root=str(WORK.parent / "root"))
run_local_pipeline(components.load_component_from_file(str(FILE)).pipeline_spec, {"work": WORK.name})
