"""One stack of one program in a rehearsal: the stack in the file backend, the private stack file, its secrets."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from rehearsal import keys, particulars, places
from rehearsal.engine import stackfile
from rehearsal.engine.home import Home, allow_profile
from rehearsal.engine.run import Engine
from rehearsal.metal.keys import person


@dataclass(frozen=True)
class Workspace:
    """The engine for the stack, and the keys whose secrets were replaced by generated ones."""

    engine: Engine
    replaced: tuple[str, ...]


def open_workspace(site: places.SiteDirectory, home: Home, root: Path, stack: str) -> Workspace:
    """Make what running `stack` of the program at `root` needs; the private copy follows the file as it is now.

    Secrets are generated once and kept for the site's life, so that a second `up` finds nothing changed. Raises
    StackFileError for a missing or unreadable file, EngineError if the CLI refuses.
    """
    text = stackfile.stack_file(root, stack).read_text()
    if profile := stackfile.aws_profile(text):
        allow_profile(home, profile)
    program = particulars.load(root)
    declared = list(dict.fromkeys([*stackfile.declared_secrets(root), *program.secrets(text)]))
    scratch = places.private_directory(site.stacks / "generated" / stack)
    places.write(scratch / "Pulumi.yaml", f"name: {stackfile.project_name(root)}\nruntime: python\n")
    keeper = Engine(home.pulumi, home.env, scratch, stack, site.logs)
    if not keeper.exists():
        (scratch / f"Pulumi.{stack}.yaml").unlink(missing_ok=True)
        keeper.ask("stack", "init", stack, "--no-select")
    replaced = [secret.key for secret in stackfile.find_secrets(text, declared)]
    sealed, salt = _generate(keeper, scratch / f"Pulumi.{stack}.yaml", replaced, given(site, program.account(text)))
    copy = site.stacks / f"Pulumi.{stack}.yaml"
    places.write(copy, stackfile.private_copy(text, sealed, declared, salt))
    return Workspace(Engine(home.pulumi, home.env, root, stack, site.logs, copy), tuple(replaced))


def given(site: places.SiteDirectory, content: particulars.Content) -> dict[str, str]:
    """Secrets that cannot be just anything: the private key by which the site's hosts let somebody in, and the key of
    its object store.
    """
    login = {content.login: person(site.hall).private.read_text()} if content.login else {}
    stored = zip(content.store_key, keys.read(site.keys).store, strict=True) if content.store_key else ()
    return {**login, **dict(stored)}


def _generate(keeper: Engine, file: Path, wanted: list[str], given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Ciphertexts of a given or generated value for each key, and the salt; values go to the CLI over stdin, never in
    argv.
    """
    sealed, salt = _sealed(file)
    missing = [key for key in wanted if _label(key) not in sealed]
    for key in missing:
        value = given.get(key) or secrets.token_urlsafe(24)
        keeper.ask("config", "set", "--secret", "--stack", keeper.stack, _label(key), stdin=value)
    if missing:
        sealed, salt = _sealed(file)
    return {key: sealed[_label(key)] for key in wanted}, salt


def _label(key: str) -> str:
    """The key under which our scratch file keeps a secret that may stand deep inside a section."""
    project, _, name = key.partition(":")
    return f"{project}:{name.replace(':', '.')}"


def _sealed(file: Path) -> tuple[dict[str, str], str]:
    content = yaml.safe_load(file.read_text()) if file.exists() else None
    config = (content or {}).get("config") or {}
    return {key: value["secure"] for key, value in config.items()}, (content or {}).get("encryptionsalt", "")
