"""A rehearsal's own PULUMI_HOME, file backend and environment: nothing of it meets a real `pulumi up`.

Facts about the engine (pulumi/pulumi sdk/go/common/workspace/plugins.go): a resource plugin is looked for in
`$PULUMI_HOME/plugins/resource-NAME-vVERSION/`, a language host beside the `pulumi` that runs, and anything of the same
name on PATH comes first unless PULUMI_IGNORE_AMBIENT_PLUGINS is set.

The CLI logs all that it sends and gets below `$PULUMI_HOME/logs`, encrypted, which takes a third of its CPU; it has no
switch for that, but goes on without where that is no directory (pkg/logging/encrypted.go, StartLogging).
"""

import contextlib
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rehearsal import keys, places, virtualenv
from rehearsal.engine import stored
from rehearsal.engine.events import WRITES_EVENTS
from rehearsal.engine.installed import HOST, Official
from rehearsal.metal.record import HALL

PLUGINS = {"aws": "pulumi-aws", "command": "pulumi-command", "kubernetes": "pulumi-kubernetes"}
"""Resource plugins and the Python distributions whose versions they answer for."""

DROPPED = ("KUBECONFIG", "GOROOT", "PYTHONPATH", "PYTHONHOME", "PULUMI_STACK", "PULUMI_ACCESS_TOKEN")
DROPPED_PREFIXES = ("AWS_", "PULUMI_", "KUBE_")


@dataclass(frozen=True)
class Home:
    """What running the engine for one site takes: the program to execute and its whole environment."""

    pulumi: Path
    env: Mapping[str, str]


def prepare(
    site: places.SiteDirectory,
    pulumi: Path,
    cloud_url: str,
    tools: tuple[Path, ...] = (),
    *,
    environment: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
    official: Official | None = None,
) -> Home:
    """Make or refresh PULUMI_HOME, the backend and the passphrase of a site.

    `pulumi` is the CLI to run, `tools` are directories put on PATH after this Python's own scripts. The SDK in the
    program's virtual `environment` asks for plugins of its own version, which are therefore there too: the same
    stand-ins, whatever the version, or the `official` ones of just that version. `variables` come last.
    """
    site.create()
    if not (unwanted := site.pulumi / "logs").exists():
        places.write(unwanted, "")
    for name, versions in wanted(environment).items():
        for version in versions:
            directory = places.private_directory(site.pulumi / "plugins" / f"resource-{name}-v{version}")
            installed = official.resources.get((name, version)) if official else None
            _write(directory / f"pulumi-resource-{name}", _resource(name, installed))
    bin_directory = places.private_directory(site.pulumi / "bin")
    _write(bin_directory / HOST, _host(official.host) if official else _ours("rehearsal.plugins.language"))
    env = _environment(site, cloud_url, tools) | dict(variables)
    return Home(_own_copy(pulumi, bin_directory / "pulumi"), env)


def wanted(environment: Path | None) -> dict[str, set[str]]:
    """The versions of the resource plugins that SDKs ask for: ours, and the one of the program's environment."""
    return {
        name: {version for each in (None, environment) if (version := virtualenv.version(distribution, each))}
        for name, distribution in PLUGINS.items()
    }


def _resource(name: str, installed: Path | None) -> str:
    """The official Kubernetes plugin has ours beside it, for charts whose repository is not reached; only our command
    plugin finds the way to rehearsed hosts.
    """
    if installed is None or name == "command":
        return _ours(f"rehearsal.plugins.{name}")
    return _ours("rehearsal.plugins.beside", str(installed)) if name == "kubernetes" else _theirs(installed)


def _host(installed: Path) -> str:
    """The host looks for `pulumi-language-python-exec`, which starts programs, on PATH."""
    return f"PATH={shlex.quote(str(installed.parent))}:$PATH {_theirs(installed)}"


def _ours(module: str, *words: str) -> str:
    # -P: the engine starts plugins in the program's directory, whose packages must not take the place of ours.
    command = shlex.join(["exec", sys.executable, "-P", "-m", module, *words])
    return f"PYTHONPATH={shlex.quote(str(places.CODE))} {command}"


def _theirs(installed: Path) -> str:
    return shlex.join(["exec", str(installed)])


def _write(path: Path, command: str) -> None:
    places.write(path, f'#!/bin/sh\n{command} "$@"\n', mode=0o700)


def _own_copy(source: Path, target: Path) -> Path:
    """The CLI beside our language host, as a hard link where the file system allows one."""
    if target.exists():
        own, new = target.stat(), source.stat()
        if own.st_size == new.st_size and own.st_mtime >= new.st_mtime:
            return target
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copy2(source, target)
    return target


def _environment(site: places.SiteDirectory, cloud_url: str, tools: tuple[Path, ...]) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in DROPPED and not name.startswith(DROPPED_PREFIXES)
    }
    profiles = site.pulumi / "aws-profiles"
    places.write(profiles, "")
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
        **WRITES_EVENTS,
        HALL: str(site.hall / "hall.json"),
        **keys.Account(cloud_url, keys.make(site.keys)).variables,
        "AWS_CONFIG_FILE": str(profiles),
        "AWS_SHARED_CREDENTIALS_FILE": str(profiles),
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def allow_profile(home: Home, name: str) -> None:
    """Let AWS clients find the profile `name`, as the user's own configuration does on a real deployment."""
    own = "".join(f"{each.lower()} = {home.env[each]}\n" for each in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    section = "default" if name == "default" else f"profile {name}"
    places.write(Path(home.env["AWS_CONFIG_FILE"]), f"[{section}]\n{own}")


def passphrase(site: places.SiteDirectory) -> Path:
    """The file with the passphrase of the rehearsal's secrets, made on first use, readable by the owner only.

    Raises StateError if it is gone and a state is there, whose secrets another one would not open.
    """
    path = site.pulumi / "passphrase"
    if not path.exists() and (sealed := stored.files(site.backend)):
        raise stored.StateError(
            f"{path} is missing, and the secrets in {sealed[0]} are encrypted with it: put it back; without it no"
            f" command can read them, but `down` still ends the rehearsal"
        )
    with contextlib.suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(32))
    return path
