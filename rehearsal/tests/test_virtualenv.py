"""The virtual environment of a program is the one that Pulumi.yaml names."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal import places, virtualenv
from rehearsal.engine import home


def made(path: Path, **versions: str) -> Path:
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").touch()
    for name, version in versions.items():
        about = path / "lib" / "python3.12" / "site-packages" / f"{name}-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
    return path


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, None),
        ({"virtualenv": "venv"}, "venv"),
        ({"virtualenv": "nowhere"}, None),
        ({"toolchain": "uv"}, ".venv"),
        ({"toolchain": "uv", "virtualenv": "venv"}, "venv"),
        ({"toolchain": "pip"}, None),
    ],
)
def test_the_runtimes_options_name_it(options: dict[str, Any], found: str | None, tmp_path: Path) -> None:
    made(tmp_path / "venv")
    made(tmp_path / ".venv")
    assert virtualenv.directory(tmp_path, options) == (tmp_path / found if found else None)
    assert virtualenv.directory(tmp_path, {"virtualenv": str(tmp_path / "venv")}) == tmp_path / "venv"


def test_the_plugins_answer_for_the_versions_of_the_programs_sdk_too(tmp_path: Path) -> None:
    environment = made(tmp_path / "venv", pulumi_aws="7.0.1")
    site, cli = places.SiteDirectory(tmp_path / "site"), tmp_path / "pulumi"
    cli.write_text("")
    home.prepare(site, cli, "http://127.0.0.1:1", environment=environment)
    own = {name: virtualenv.version(f"pulumi-{name}", None) for name in ("aws", "command", "kubernetes")}
    wanted = {"resource-aws-v7.0.1", *(f"resource-{name}-v{version}" for name, version in own.items())}
    assert {path.name for path in (site.pulumi / "plugins").iterdir()} == wanted
