"""Runs one Pulumi program: ``python program.py ENTRY SETTINGS [ARGUMENT...]``.

A script, not a module: the project's own virtual environment may hold nothing of ours. It ends as the official one
does (sdk/python/cmd/pulumi-language-python-exec of pulumi): with 32 after telling the engine of an exception that
nobody caught, with 1 after a RunError, which the engine then reports once more as an exit code, with the program's own
code after `sys.exit`, and with Python's traceback of a KeyboardInterrupt when the engine gives the program up.
"""

import asyncio
import json
import logging
import os
import runpy
import sys
import traceback
from pathlib import Path

import grpc
import pulumi
import pulumi.runtime

REPORTED = 32


def main() -> int:
    """Connects to the engine and runs the program inside a stack."""
    entry, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
    sys.argv = [str(entry), *sys.argv[3:]]
    folder = entry if entry.is_dir() else entry.parent
    sys.path[0] = str(folder)
    secrets = pulumi.runtime.config.get_config_secret_keys_env()
    pulumi.runtime.set_all_config(pulumi.runtime.config.get_config_env(), secrets)
    pulumi.runtime.configure(pulumi.runtime.Settings(**settings))
    pulumi.log.debug = _unsaid
    # the SDK leaves tasks behind that nobody awaits once a program has failed; asyncio would list them all
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: _program(entry)))
    except pulumi.RunError as error:
        _report(str(error))
        return 1
    except Exception as error:
        _report(f"Program failed with an unhandled exception:\n{_told(error, folder)}")
        return REPORTED
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _unsaid(*_: object, **__: object) -> None:
    """In place of a debug message: the SDK has several for each resource, each a call for whose answer it waits.

    The engine shows them if it is run with `--debug`, which no rehearsal does.
    """


def _program(entry: Path) -> None:
    runpy.run_path(str(entry), run_name="__main__")


def _report(text: str) -> None:
    """Tells the engine; where it is gone already, whoever reads stderr."""
    try:
        pulumi.log.error(text)
    except grpc.RpcError:
        print(text, file=sys.stderr)


def _told(error: Exception, folder: Path) -> str:
    """The traceback's frames in the program itself and the error; all frames if none is the program's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _inside(frame.filename, folder)]
    lines = traceback.format_list(own or frames)
    return "".join(["Traceback (most recent call last):\n", *lines, *traceback.format_exception_only(error)])


def _inside(file: str, folder: Path) -> bool:
    path = Path(file).resolve()
    return path.is_relative_to(folder.resolve()) and "site-packages" not in path.parts


if __name__ == "__main__":
    code = main()
    # threads of the gRPC client may still be up
    os._exit(code) if code else sys.exit(code)
