"""An experiment's winner as arguments of the run that is to train with it: `make winner STACK=dev EXPERIMENT=NAME`.

Katib's Experiment comes as JSON on standard input. In the stack file only the run's `script` changes, everything else
stays as somebody wrote it; what changed is printed. Exit status: 0 if it is written or was there already, 1 if there is
no winner, or no such run in the file, 2 if the command is wrong.
"""

import argparse
import difflib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from settings.errors import SettingsError
from settings.load import from_file


class NoWinnerError(Exception):
    """Nothing to write; the text says why, and what to do."""


def winner(experiment: Mapping[str, Any]) -> dict[str, str]:
    """The best trial's values by the parameter's name. Raises NoWinnerError before the experiment has ended well."""
    name, status = experiment.get("metadata", {}).get("name", "?"), experiment.get("status") or {}
    true = {each["type"]: each for each in status.get("conditions") or () if each.get("status") == "True"}
    if "Succeeded" not in true:
        why = true["Failed"].get("message", "") if "Failed" in true else "it goes on"
        space = experiment.get("metadata", {}).get("namespace", "training")
        raise NoWinnerError(f"experiment {name} has no winner: {why}; kubectl -n {space} describe experiment {name}")
    best = (status.get("currentOptimalTrial") or {}).get("parameterAssignments") or ()
    if not best:
        raise NoWinnerError(f"experiment {name} ended without a trial that told its metric")
    return {str(each["name"]): str(each["value"]) for each in best}


def arguments(script: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """The script's words with these values at their end, in place of those it has of the same flags."""
    flags, kept, skip = {f"--{name}" for name in values}, list[str](), False
    for index, word in enumerate(script):
        flag, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif flag in flags:
            skip = not equals and index + 1 < len(script) and not script[index + 1].startswith("--")
        else:
            kept.append(word)
    return [*kept, *(f"--{name}={value}" for name, value in values.items())]


def written(text: str, run: str, values: Mapping[str, str]) -> str:
    """The stack file with the values in that run's `script`. Raises NoWinnerError where it does not write the run."""
    found = next((each for each in _runs(yaml.compose(text)) if _at(each, "name") == run), None)
    if found is None:
        raise NoWinnerError(
            f"the stack file writes no run {run}: a preset has it; write training.runs in the file, or name another"
            " run: TO=NAME"
        )
    keys = {key.value: (key, value) for key, value in found.value}
    old: Sequence[str] = ()
    if "script" in keys:
        node = keys["script"][1]
        old = [str(each.value) for each in node.value]
        begin, end, lead, tail = node.start_mark.index, node.end_mark.index, "", ""
        if not node.flow_style:
            # The mark of a block's end is where the next key begins.
            end = begin + len(text[begin:end].rstrip())
    else:
        key = found.value[min(1, len(found.value) - 1)][0]
        begin = end = key.start_mark.index
        lead, tail = "script: ", ", " if found.flow_style else "\n" + " " * key.start_mark.column
    words = ", ".join(_word(each) for each in arguments(old, values))
    return f"{text[:begin]}{lead}[{words}]{tail}{text[end:]}"


def _runs(root: yaml.Node | None) -> list[yaml.MappingNode]:
    node: Any = root
    for name in ("config", "gpucluster:training", "runs"):
        node = _at(node, name, whole=True)
    return [each for each in node.value if isinstance(each, yaml.MappingNode)] if node is not None else []


def _at(node: Any, name: str, *, whole: bool = False) -> Any:
    """The value of a key, or its node; None where there is none."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    found = next((value for key, value in pairs if key.value == name), None)
    return found if whole or found is None else found.value


def _word(word: str) -> str:
    """As a word of a flow sequence, in quotes where YAML would read something else."""
    try:
        plain = yaml.safe_load(f"[{word}]") == [word]
    except yaml.YAMLError:
        plain = False
    return word if plain else json.dumps(word, ensure_ascii=False)


def main(words: Sequence[str], *, read: str | None = None) -> int:
    """Write the winner into the stack file."""
    parser = argparse.ArgumentParser(prog="make winner", usage="make winner STACK=dev EXPERIMENT=NAME [TO=RUN]")
    parser.add_argument("--stack", required=True)
    parser.add_argument("--to", default="", help="another run than the experiment's")
    asked = parser.parse_args(list(words))
    file = Path(f"Pulumi.{asked.stack}.yaml")
    try:
        (experiment,) = json.loads(sys.stdin.read() if read is None else read)["items"]
        settings, text = from_file(file), file.read_text(encoding="utf-8")
        run = asked.to or _run_of(settings, experiment["metadata"]["name"])
        new = written(text, run, winner(experiment))
        with tempfile.TemporaryDirectory() as directory:
            tried = Path(directory) / file.name
            tried.write_text(new, encoding="utf-8")
            from_file(tried)
    except (ValueError, KeyError, TypeError):
        print("kubectl found no such Experiment of Katib, or says above why it could not look", file=sys.stderr)
        return 2
    except (NoWinnerError, SettingsError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    changes = difflib.unified_diff(text.splitlines(), new.splitlines(), str(file), str(file), n=0, lineterm="")
    print("\n".join(changes) or f"{file} has the winner already")
    file.write_text(new, encoding="utf-8")
    print(f"next: make plan STACK={asked.stack}, then pulumi preview: the run begins anew with these values")
    return 0


def _run_of(settings: Any, experiment: str) -> str:
    found = next((each.run for each in settings.training.experiments if each.name == experiment), None)
    if found is None:
        raise NoWinnerError(f"the stack file has no experiment {experiment}, so nobody knows its run: type TO=RUN")
    return str(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
