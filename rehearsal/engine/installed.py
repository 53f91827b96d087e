"""Official parts of Pulumi that a machine has, used instead of the stand-ins: `PLUGINS=official`, or a directory.

Names and places are the engine's (pulumi/pulumi sdk/go/common/workspace/plugins.go): a resource plugin is
`PULUMI_HOME/plugins/resource-NAME-vVERSION/pulumi-resource-NAME`, the language host lies beside `pulumi`. A directory
may hold the executables side by side as well.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "PLUGINS"
OFFICIAL = "official"
HOST = "pulumi-language-python"
OPTIONAL = frozenset({"aws", "command"})
"""The stand-in serves where the official one is not installed: AWS' is 700 MB, and command's is never used."""


class NotInstalledError(Exception):
    """Official parts were asked for and are not there; the text says which, where, and how to get them."""


@dataclass(frozen=True)
class Official:
    """The official executables to use: the language host, and resource plugins by name and version."""

    host: Path
    resources: Mapping[tuple[str, str], Path]


def official(word: str, versions: Mapping[str, set[str]]) -> Official | None:
    """What `PLUGINS` asks for: nothing, the machine's own parts, or those in a directory.

    `versions` are the versions that the SDKs name, by plugin. Raises NotInstalledError naming every
    part that is missing.
    """
    if not word:
        return None
    if word != OFFICIAL and not Path(word).is_dir():
        raise NotInstalledError(f"{VARIABLE}={word} is neither `{OFFICIAL}` nor a directory of plugins")
    base = None if word == OFFICIAL else Path(word).absolute()
    host = _executable([base / HOST] if base else [_on_path(HOST)])
    wanted = [(name, version) for name, known in versions.items() for version in sorted(known)]
    found = {(name, version): _resource(base, name, version) for name, version in wanted}
    missing = [f"{HOST} (it comes with the CLI: install Pulumi)"] if host is None else []
    missing += [
        f"pulumi-resource-{name} {version} (pulumi plugin install resource {name} {version})"
        for (name, version), path in found.items()
        if path is None and name not in OPTIONAL
    ]
    if missing or host is None:
        raise NotInstalledError(f"{VARIABLE}={word}: not installed are {', '.join(missing)}; or leave {VARIABLE} away")
    return Official(host, {key: path for key, path in found.items() if path is not None})


def _resource(base: Path | None, name: str, version: str) -> Path | None:
    file, folder = f"pulumi-resource-{name}", f"resource-{name}-v{version}"
    if base is not None:
        return _executable([base / folder / file, base / file])
    own = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    return _executable([own / "plugins" / folder / file])


def _on_path(name: str) -> Path:
    """The executable that PATH or the usual place of the CLI has; a path that does not exist if neither does."""
    usual = Path.home() / ".pulumi" / "bin" / name
    return Path(shutil.which(name) or usual)


def _executable(candidates: list[Path]) -> Path | None:
    return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)
