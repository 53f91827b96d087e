"""Command lines of the AWS CLI, and what it says where its identity may not do what it is asked to."""

import re
import shlex
from collections.abc import Sequence

from rehearsal.cloud.seen import iam
from rehearsal.images import identity
from rehearsal.kubelet.program import Launch

_FLAGS_WITH_VALUE = frozenset(
    f"--{name}"
    for name in ("region", "exclude", "include", "endpoint-url", "page-size", "profile", "output", "checksum-algorithm")
)


class CommandError(Exception):
    """The command fails with this text, exit code 1."""


def allowed(
    launch: Launch,
    who: identity.Identity,
    operation: str,
    action: str,
    resource: str,
    context: iam.Context | None = None,
) -> None:
    """Raises CommandError with AWS' words where the identity may not do that."""
    kind = identity.refusal(launch, who, action, resource, context)
    if kind is not None:
        raise CommandError(
            f"fatal error: An error occurred (AccessDenied) when calling the {operation} operation: User: "
            f'{who.session()} is not authorized to perform: {action} on resource: "{resource}" because no '
            f"{kind} policy allows the {action} action"
        )


def script(argv: Sequence[str]) -> str:
    """A command line as one text, which a shell would read. Pure."""
    return " ".join(argv) if any(" " in word for word in argv) else shlex.join(argv)


def commands(argv: Sequence[str]) -> list[list[str]]:
    """The words of each command of a command line, which may be a shell script. Pure."""
    commands = (split(command) for command in re.split(r"\n|;|&&|\|\|", script(argv)))
    return [[word for word in words if word not in ("exec", "time")] for words in commands]


def split(command: str) -> list[str]:
    """The words of a command, also of one that no shell would take. Pure."""
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return command.replace("'", " ").replace('"', " ").split()


def positional(words: Sequence[str]) -> list[str]:
    """The words that are neither flags nor their values. Pure."""
    result, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in _FLAGS_WITH_VALUE:
            skip = True
        elif not word.startswith("-"):
            result.append(word)
    return result
