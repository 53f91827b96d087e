"""The plan as JSON: complete, the same every time, read back as it was, and as its schema says."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from planner.faces import generated
from planner.faces.document import CAMEL, KINDS, PLATFORM, derived, document, parts, plain, schema, text
from planner.metal_types import MetalPlan
from planner.plan import AwsPlan
from tests.planner.stacks import ROOT, planned, planned_metal

VALIDATOR = jsonschema_rs.Draft202012Validator(schema())


def checked(plan: AwsPlan | MetalPlan) -> dict[str, Any]:
    """The document as a reader gets it, after the schema has been asked."""
    data: dict[str, Any] = json.loads(text(document(plan)))
    VALIDATOR.validate(data)
    return data


@cache
def reader(platform: str) -> TypeAdapter[Any]:
    """What reads a document of that platform."""
    # Pydantic takes a configuration for a plain dataclass only where that is one of several types.
    kind: Any = KINDS[platform] | None
    return TypeAdapter(kind, config=CAMEL)


def restored(data: dict[str, Any]) -> AwsPlan | MetalPlan:
    """The plan that a document describes. Raises pydantic's ValidationError, a ValueError, if it describes none."""
    plan: AwsPlan | MetalPlan = reader(data[PLATFORM]).validate_json(json.dumps(data))
    return plan


COUNTS = st.integers(0, 300)
AWS_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "pools.1.count": COUNTS,
        "pools.2.count": COUNTS,
        "pools.1.instanceType": st.sampled_from(
            ["p5.48xlarge", "p5en.48xlarge", "p4d.24xlarge", "g6e.xlarge", "p9.big"]
        ),
        "training.runs.0.nodes": st.integers(1, 64),
        "training.runs.0.model": st.sampled_from(["llama-3-8b", "llama-3-70b", "gpt-0"]),
        "serving.services.0.tensorParallel": st.sampled_from([1, 2, 4, 7, 8]),
        "serving.services.0.gpuMemoryUtilization": st.floats(0.1, 0.98),
        "budget.maxHourlyUsd": st.floats(0.01, 1e6),
    },
).flatmap(
    lambda changes: (
        st.just(changes)
        if "training.runs.0.model" not in changes
        else st.sampled_from([{}, {"training.runs.0.checkpoint": {"everyMinutes": 30, "withinSeconds": 60}}]).map(
            lambda further: {**changes, **further}
        )
    )
)
METAL_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "pools.1.count": st.integers(1, 16),
        "pools.1.server": st.sampled_from(["DGX H100", "DGX H200", "nothing"]),
        "training.runs.0.nodes": st.integers(1, 32),
        "training.runs.0.model": st.sampled_from(["llama-3-8b", "llama-3-405b"]),
        "fabric.oversubscription": st.sampled_from([1, 1.5, 2, 4]),
        "fabric.topology": st.sampled_from(["auto", "single", "leaf-spine", "rail-optimised"]),
        "facility.pue": st.floats(1.01, 2.5),
        "storage.lustre.count": st.integers(1, 40),
    },
)


@given(AWS_CHANGES)
def test_every_plan_on_aws_comes_back_as_it_was(changes: dict[str, Any]) -> None:
    """Also one that is refused: what is missing from it is missing from its document."""
    plan = planned("prod", changes)
    assert restored(checked(plan)) == plan


@given(METAL_CHANGES)
def test_every_plan_on_metal_comes_back_as_it_was(changes: dict[str, Any]) -> None:
    """Fabric, storage and room included."""
    plan = planned_metal(changes)
    assert restored(checked(plan)) == plan


def test_what_follows_from_the_fields_stands_beside_them() -> None:
    """A reader need not know the formulas: totals of a memory, tons of a room."""
    data = checked(planned_metal({"training.runs.0.model": "llama-3-8b"}))
    memory = data["runs"]["llama-3-70b-pretrain"]["training"]["memory"]
    stated = sum(value for key, value in memory.items() if key in {"weightsGb", "gradientsGb", "optimizerGb"})
    assert memory["statesGb"] == pytest.approx(stated)
    assert data["facility"]["power"]["drawKw"] > data["facility"]["power"]["gpusKw"]


def test_a_changed_document_is_another_plan() -> None:
    """Reading is not forgiving: a document without a field, or with a word for a number, is none."""
    plan = planned("dev")
    data = checked(plan)
    data["totals"]["gpus"] += 1
    assert restored(data) == replace(plan, totals=replace(plan.totals, gpus=plan.totals.gpus + 1))
    del data["totals"]["gpus"]
    with pytest.raises(jsonschema_rs.ValidationError):
        VALIDATOR.validate(data)
    with pytest.raises(ValueError, match="gpus"):
        restored(data)


def test_the_same_plan_gives_the_same_text_in_every_process() -> None:
    """Sets have no order of their own; a document that is compared or committed has one."""
    command = [sys.executable, "-m", "planner", "--stack", "prod", "--format", "json"]
    texts = {
        subprocess.run(
            command, cwd=ROOT, capture_output=True, check=True, timeout=60, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


@dataclass(frozen=True)
class Sample:
    size_gb: float

    @property
    def size_tb(self) -> float:
        return self.size_gb / 1000

    @property
    def halves(self) -> tuple[float, ...]:
        return (self.size_gb / 2,) * 2


def test_only_plain_values_follow() -> None:
    """Numbers and words are written down; what is made of more is left to who needs it."""
    assert derived(Sample) == {"size_tb": float}
    assert plain(Sample(size_gb=500)) == {"sizeGb": 500, "sizeTb": 0.5}
    with pytest.raises(TypeError, match="a object has no place in a plan"):
        plain({"x": object()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        text({"x": float("inf")})


def test_parts_of_a_plan_have_names_of_their_own() -> None:
    """The schema's definitions go by them."""
    names = [part.__name__ for part in parts()]
    assert len(names) == len(set(names))
    assert {"AwsPlan", "MetalPlan", "Difference", "Explanation", "Finding"} <= set(names)


def test_committed_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/reference/plan.schema.json and planner.md are what the planner says."""
    assert generated.main(["--check"]) == 0, capsys.readouterr().out


def test_stale_files_are_noticed_and_written(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check names each stale file and changes none; writing repairs them."""
    monkeypatch.setattr(generated, "REFERENCE", tmp_path)
    assert generated.main(["--check"]) == 1
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().out.count("type: make reference") == len(generated.contents())
    assert generated.main([]) == 0
    assert generated.main(["--check"]) == 0
    assert generated.main(["--chek"]) == 2
