"""A rehearsal's own PULUMI_HOME, file backend and environment: nothing of it meets a real `pulumi up`.

Facts about the engine (pulumi/pulumi sdk/go/common/workspace/plugins.go): a resource plugin is looked for in
`$PULUMI_HOME/plugins/resource-NAME-vVERSION/`, a language host beside the `pulumi` that runs, and anything of the same
name on PATH comes first unless PULUMI_IGNORE_AMBIENT_PLUGINS is set.
"""

import contextlib
import importlib.metadata
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rehearsal import places

PLUGINS = {"aws": "pulumi-aws", "kubernetes": "pulumi-kubernetes"}
"""Resource plugins and the Python distributions whose versions they answer for."""

DROPPED = ("KUBECONFIG", "GOROOT", "PYTHONPATH", "PYTHONHOME", "PULUMI_STACK", "PULUMI_ACCESS_TOKEN")
DROPPED_PREFIXES = ("AWS_", "PULUMI_", "KUBE_")


@dataclass(frozen=True)
class Home:
    """What running the engine for one site takes: the program to execute and its whole environment."""

    pulumi: Path
    env: Mapping[str, str]


def prepare(site: places.SiteDirectory, pulumi: Path, cloud_url: str, tools: tuple[Path, ...] = ()) -> Home:
    """Make or refresh PULUMI_HOME, the backend and the passphrase of a site.

    `pulumi` is the CLI to run, `tools` are directories put on PATH after this Python's own scripts.
    """
    site.create()
    for name, distribution in PLUGINS.items():
        version = importlib.metadata.version(distribution)
        directory = places.private_directory(site.pulumi / "plugins" / f"resource-{name}-v{version}")
        _wrapper(directory / f"pulumi-resource-{name}", f"rehearsal.plugins.{name}")
    bin_directory = places.private_directory(site.pulumi / "bin")
    _wrapper(bin_directory / "pulumi-language-python", "rehearsal.plugins.language")
    return Home(_own_copy(pulumi, bin_directory / "pulumi"), _environment(site, cloud_url, tools))


def _wrapper(path: Path, module: str) -> None:
    # -P: the engine starts plugins in the program's directory, whose packages must not take the place of ours.
    words = ["exec", sys.executable, "-P", "-m", module]
    script = f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(places.CHECKOUT))} {shlex.join(words)} "$@"\n'
    places.write(path, script, mode=0o700)


def _own_copy(source: Path, target: Path) -> Path:
    """The CLI beside our language host, as a hard link where the file system allows one."""
    if target.exists() and target.stat().st_size == source.stat().st_size and _not_older(target, source):
        return target
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copy2(source, target)
    return target


def _not_older(target: Path, source: Path) -> bool:
    return target.stat().st_mtime >= source.stat().st_mtime


def _environment(site: places.SiteDirectory, cloud_url: str, tools: tuple[Path, ...]) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in DROPPED and not name.startswith(DROPPED_PREFIXES)
    }
    empty = site.pulumi / "no-profiles"
    places.write(empty, "")
    path = [str(Path(sys.executable).parent), *map(str, tools), inherited.get("PATH", "")]
    return inherited | {
        "PATH": os.pathsep.join(path),
        "PULUMI_HOME": str(site.pulumi),
        # Without metadata=skip every write of the state is two, and an engine killed between them leaves a state that
        # no command reads ("EOF"): gocloud.dev blob/fileblob writes the `.attrs` file in place.
        "PULUMI_BACKEND_URL": f"file://{site.backend}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase(site)),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
        "PULUMI_DEBUG_COMMANDS": "true",  # it unlocks --event-log
        "AWS_ENDPOINT_URL": cloud_url,
        "AWS_ACCESS_KEY_ID": "AKIAREHEARSAL0000000",
        "AWS_SECRET_ACCESS_KEY": "rehearsal",
        "AWS_CONFIG_FILE": str(empty),
        "AWS_SHARED_CREDENTIALS_FILE": str(empty),
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def passphrase(site: places.SiteDirectory) -> Path:
    """The file with the passphrase of the rehearsal's secrets, made on first use, readable by the owner only."""
    path = site.pulumi / "passphrase"
    with contextlib.suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(32))
    return path
