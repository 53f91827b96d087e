"""Asks a few questions and writes a stack file; shared by `make new` and `make lab`."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from catalogue.echo import bare, echo
from settings.errors import SettingsError

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
