"""Stacks and presets by name, as commands take them, and commands that ask a few questions and write a stack file."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalogue.echo import bare, echo
from planner.faces.assignments import Assignment, assigned
from settings.errors import SettingsError, meant, written
from settings.load import from_file, from_sections, on_its_preset, sections_in
from settings.model import AwsSettings, MetalSettings
from settings.presets import preset_names

_PRESET = "preset"
_OWNER = {"example": True, "lifecycle": {"owner": "nobody", "costCentre": "none"}}
"""What a preset leaves to the stack file; alone it is an example."""

_NO_KEY = (": is not a key;", ": belongs to platform.kind")


class UsageError(Exception):
    """A command names a stack, a preset or an option that does not exist; the message says what to type."""


def typed(arguments: Sequence[str], target: str, usage: str) -> argparse.Namespace:
    """`stack` or `preset`, and the directory `out`, as they were typed for a target of make."""
    parser = argparse.ArgumentParser(prog=f"make {target}", usage=f"make {target} {usage}")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--stack")
    what.add_argument("--preset")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args(arguments)


def stack_or_preset(stack: str | None, preset: str | None) -> AwsSettings | MetalSettings:
    """Raises UsageError for a name that there is not, and SettingsError for a file that says what cannot be."""
    return (of_preset(preset) if preset is not None else of_stack(str(stack)))[1]


def of_stack(name: str) -> tuple[str, AwsSettings | MetalSettings, dict[str, Any]]:
    """The stack's name, its settings, and its sections as they are written."""
    file = Path(f"Pulumi.{name}.yaml")
    try:
        return name, from_file(file), sections_in(file)
    except FileNotFoundError:
        raise UsageError(f"there is no {bare(file)} in this directory; {meant(name, _stacks())}") from None
    except OSError as error:
        raise UsageError(f"{bare(file)}: {error.strerror}") from None


def _stacks() -> list[str]:
    """The stacks whose files are in this directory."""
    return sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in Path().glob("Pulumi.*.yaml"))


def either(name: str) -> tuple[str, AwsSettings | MetalSettings, dict[str, Any]]:
    """A stack, or else a preset, of that name."""
    if name in _stacks():
        return of_stack(name)
    if name in preset_names():
        return of_preset(name)
    raise UsageError(f"there is no stack and no preset {echo(name)}; {meant(name, [*_stacks(), *preset_names()])}")


def of_preset(name: str) -> tuple[str, AwsSettings | MetalSettings, dict[str, Any]]:
    """A preset as if a stack file said nothing else."""
    if name not in preset_names():
        raise UsageError(f"there is no preset {echo(name)}; {meant(name, preset_names())}")
    sections = {_PRESET: name, **_OWNER}
    return f"preset {name}", from_sections(sections), sections


def changed(sections: Mapping[str, Any], changes: Sequence[Assignment]) -> AwsSettings | MetalSettings:
    """The settings with the assignments made, also to what the preset says. UsageError for a path without a key."""
    about_preset = [change for change in changes if change.path == (_PRESET,)]
    others = [change for change in changes if change not in about_preset]
    try:
        return from_sections(assigned(on_its_preset(assigned(sections, about_preset)), others))
    except SettingsError as error:
        steps = [change.path[: depth + 1] for change in changes for depth in range(len(change.path))]
        about = tuple(f"{written(path)}{said}" for path in steps for said in _NO_KEY)
        if unknown := [problem for problem in error.problems if problem.startswith(about)]:
            raise UsageError("\n".join(unknown)) from None
        raise


_STACK = "[a-z][a-z0-9-]{0,38}[a-z0-9]"


class NoStackError(Exception):
    """What was asked for cannot work; the message says why, one reason a line."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question: the option that answers it, what is asked, what stands in brackets, what is wrong with an answer."""

    name: str
    asked: str
    default: str
    wrong: Callable[[str], str | None] = lambda _: None


def asked(
    program: str,
    questions: Sequence[Question],
    arguments: Sequence[str],
    ask: Callable[[str], str] | None,
    instead: str,
    write: Callable[[Mapping[str, str], str, Path], None],
) -> int:
    """Take the stack's name, ask, and `write` its file, which says why it cannot. `instead` of a file that is there."""
    target = program.removeprefix("planner.")
    usage = f"make {target} STACK=mine ARGS='{' '.join(f'[--{each.name} ...]' for each in questions)}'"
    parser = argparse.ArgumentParser(prog=f"make {target}", usage=usage)
    parser.add_argument(
        "--stack", required=True, type=stack_name, help="name of the stack; the file is Pulumi.<stack>.yaml"
    )
    for question in questions:
        parser.add_argument(f"--{question.name}", help=f"{question.asked} [{question.default}]")
    options = parser.parse_args(arguments)
    file = Path(f"Pulumi.{options.stack}.yaml")
    if file.exists():
        print(f"{bare(file)} already exists; {instead}", file=sys.stderr)
        return 2
    if ask is None and sys.stdin.isatty():
        ask = input
    try:
        write(answers(questions, options, ask), options.stack, file)
    except (NoStackError, SettingsError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def stack_name(word: str) -> str:
    """The name of a new stack, for argparse: part of a file's name and of the cluster's."""
    if not re.fullmatch(_STACK, word):
        raise argparse.ArgumentTypeError(
            f"{echo(word)} is not the name of a stack: type lower-case letters, digits and -, such as lab-2"
        )
    return word


def answers(
    questions: Sequence[Question], options: argparse.Namespace, ask: Callable[[str], str] | None
) -> dict[str, str]:
    """An answer to each question. A wrong one is asked again; where nobody can be asked, it raises NoStackError."""
    return {question.name: _answer(question, getattr(options, question.name), ask) for question in questions}


def _answer(question: Question, given: str | None, ask: Callable[[str], str] | None) -> str:
    if ask is None:
        given = given or question.default
        if problem := question.wrong(given):
            raise NoStackError(f"--{question.name}: {problem}")
        return given
    while given is None or (problem := question.wrong(given)):
        if given is not None:
            print(problem)
        given = ask(f"{question.asked} [{question.default}]: ").strip() or question.default
    return given
