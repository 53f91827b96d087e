"""The text that prepares a machine, whole. What bash makes of it, tests/stacks/test_metal.py says."""

import hashlib
from pathlib import Path

import pytest

from components.metal.bundle import CONCERNS, bundle, chosen

HOST = Path(__file__).parents[2] / "node" / "host"


def test_variables_and_functions_come_before_the_one_call_under_the_hash_of_them_all() -> None:
    action, generation, empty, rest = bundle({"SERIAL": "x y", "ADDRESS": "z"}, ["time", "swap"]).split("\n", 3)
    assert (action, empty) == ("GPUCLUSTER_ACTION=${1:-apply}", "")
    assert generation == f"GPUCLUSTER_GENERATION={hashlib.sha256(rest.encode()).hexdigest()[:16]}"
    variables = "GPUCLUSTER_ADDRESS=z\nGPUCLUSTER_SERIAL='x y'\n"
    functions = [(HOST / f"{name}.sh").read_text(encoding="utf-8") for name in ("lib", "time", "swap")]
    assert rest == "\n".join([variables, *functions, "run_concerns time swap\n"])


def test_every_script_for_machines_is_a_concern_and_keeps_its_place() -> None:
    assert {path.stem for path in HOST.glob("*.sh")} == {"lib", *CONCERNS}
    assert chosen(*reversed(CONCERNS)) == CONCERNS
    with pytest.raises(ValueError, match="unknown concern chekcs"):
        chosen("chekcs")
