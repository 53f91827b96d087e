"""One run of a program without an engine: CPU seconds from the interpreter's start to the last registration.

    python -m tests.bench.alone Pulumi.STACK.yaml [FLAT/__main__.py]

The monitor answers at once, so what is measured is the program's own share of a preview: imports, settings, plan,
components, serialisation. Prints one JSON object.
"""

import json
import runpy
import sys
import time
from pathlib import Path

import yaml

from tests.graph.harness import config_of, record

ROOT = Path(__file__).resolve().parents[2]


def main(file: str, program: str) -> None:
    """Run the program and print what it took."""
    config = yaml.safe_load(Path(file).read_text())["config"]
    receivers = config.get("gpucluster:monitoring", {}).get("receivers", ())
    named = ("hfToken", "apiToken", *(each["secret"] for each in receivers))
    secrets = dict.fromkeys((f"gpucluster:{key}" for key in named), "for-the-bench")
    graph = record(
        lambda: runpy.run_path(program, run_name="__main__"),
        stack=Path(file).stem.rpartition(".")[2],
        config=config_of({**config, **secrets}),
        secrets=tuple(secrets),
        preview=True,
    )
    print(json.dumps({"cpu_seconds": time.process_time(), "resources": len(graph.resources)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else str(ROOT / "__main__.py"))
