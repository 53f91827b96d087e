"""From what was planned to what torchrun starts: words, variables and files, by framework (N03, N16, N18).

Counts of nodes and processes, the rendezvous and its port are the operator's (KJ03, KJ06, KJ07): nothing here can name
them. What the plan says comes after the script, and the script's own arguments last.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from components.training.frameworks import deepspeed, megatron, nemo, plain
from components.training.recipe import Recipe

DIRECTORY = "/etc/gpucluster/launch"
PLAN = "plan.json"
PLAN_VARIABLE = "RUN_PLAN"
"""Where a script finds the whole plan, of which its framework may have no flag for a part."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Words after `torchrun`, variables, and files that lie in DIRECTORY."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def of_torchrun(numa_binding: str | None) -> tuple[str, ...]:
    """torchrun's own options, which stand before the script (PyTorch 2.9, torch/distributed/run.py)."""
    return (f"--numa-binding={numa_binding}",) if numa_binding else ()


def script_as_it_is(script: Sequence[str], numa_binding: str | None = None) -> Launch:
    """A script of the user's, which gets no word that is not its own."""
    return Launch(words=(*of_torchrun(numa_binding), *script))


def launch(recipe: Recipe, numa_binding: str | None = None) -> Launch:
    """The launch of a recipe. Raises ValueError for a framework that nobody knows."""
    told, environment, files = _told(recipe)
    started, own = begin(recipe.script)
    return Launch(
        words=(*of_torchrun(numa_binding), *started, *told, *own),
        environment={**environment, PLAN_VARIABLE: f"{DIRECTORY}/{PLAN}"},
        files={PLAN: _written(planned(recipe)), **files},
    )


def begin(script: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What names the program (a file, or -m and a module), and its own arguments."""
    first = 2 if script[:1] in (["-m"], ("-m",), ["--module"], ("--module",)) else 1
    return script[:first], script[first:]


_SINCE = ("loader_workers", "virtual_stages", "expert_tensor", "ends_as_layers")
"""Fields that files of runs that stand may lack: another file would begin such a run anew."""


def planned(recipe: Recipe) -> dict[str, Any]:
    """The recipe as a program reads it: names of the fields, the model by its name. Fields that came later stand there
    where they say something.
    """
    usual = {each.name: each.default for each in fields(recipe) if each.name in _SINCE}
    told = {"script", "model", *(name for name, default in usual.items() if getattr(recipe, name) == default)}
    found = {name: value for name, value in asdict(recipe).items() if name not in told}
    return {"model": recipe.model.name, **found}


def _told(recipe: Recipe) -> tuple[tuple[str, ...], Mapping[str, str], Mapping[str, str]]:
    match recipe.framework:
        case "torchrun" | "fsdp2":
            return plain.words(recipe), {}, {}
        case "reference":
            return (*plain.architecture(recipe), *plain.words(recipe)), {}, {}
        case "deepspeed":
            path = f"{DIRECTORY}/{deepspeed.FILE}"
            return deepspeed.words(path), {}, {deepspeed.FILE: _written(deepspeed.configuration(recipe))}
        case "megatron":
            return megatron.words(recipe), megatron.environment(recipe), {}
        case "nemo":
            return nemo.words(recipe), megatron.environment(recipe), {}
        case other:
            raise ValueError(f"{other} is not a framework that can start a run")


def _written(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True) + "\n"
