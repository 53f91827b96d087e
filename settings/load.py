"""Reading the settings of a stack: from the running Pulumi program, or from the stack file itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from catalogue.echo import bare, echo
from settings.errors import NAMESPACE, SettingsError, meant, nearest, sentences, written
from settings.model import PLATFORMS, AwsSettings, MetalSettings
from settings.presets import merged, preset, preset_names
from settings.secrets import API_TOKEN, HUB_TOKEN, named_secrets
from settings.sections import Path

if TYPE_CHECKING:
    import pulumi

SECRETS = (HUB_TOKEN, API_TOKEN)
"""Secrets are keys of their own, set with `pulumi config set --secret` and read with `require_secret`. Beside these
there are those that sections name (`stack_secrets`)."""

SECTIONS = tuple(
    dict.fromkeys(field.alias or name for kind in PLATFORMS.values() for name, field in kind.model_fields.items())
)

_BESIDE_CONFIG = ("config", "encryptionsalt", "encryptedkey", "secretsprovider", "environment")
_NO_DEFAULT_PROVIDERS = "pulumi:disable-default-providers"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings of the running program, and the configuration from which stacks read the secrets."""

    settings: AwsSettings | MetalSettings
    config: pulumi.Config


def from_pulumi(config: pulumi.Config) -> Loaded:
    """The settings of the running program. Raises SettingsError with everything that is wrong with them."""
    from pulumi.runtime.config import CONFIG, get_config_env, get_config_secret_keys_env, is_config_secret

    prefix = f"{config.name}:"
    keys = [key.removeprefix(prefix) for key in {**get_config_env(), **CONFIG.get()} if key.startswith(prefix)]
    sealed = {key for key in keys if is_config_secret(prefix + key) or prefix + key in get_config_secret_keys_env()}
    values = {key: _parsed(config.get(key)) for key in keys}
    secrets = (*SECRETS, *stack_secrets(values))
    beside = _unread_keys(dict.fromkeys([*get_config_env(), *CONFIG.get()]))
    about_keys = [*_unknown_keys(keys, secrets), *_clear_secrets((key for key in keys if key not in sealed), secrets)]
    problems = [*beside, *about_keys]
    secret: list[Path] = [(key,) for key in keys if key in SECTIONS and is_config_secret(prefix + key)]
    return Loaded(_settings(values, problems, secret), config)


def from_file(path: FilePath) -> AwsSettings | MetalSettings:
    """The settings in a Pulumi.<stack>.yaml. Raises SettingsError with everything wrong, OSError if unreadable."""
    content, config, values = _read(path)
    clear = (key for key, value in values.items() if not _is_secure(value))
    secrets = (*SECRETS, *stack_secrets(values))
    about_keys = [*_unknown_keys(values, secrets), *_clear_secrets(clear, secrets)]
    problems = [*_misplaced(content), *_default_providers(config), *_unread_keys(config), *about_keys]
    secret = [path for key in SECTIONS if key in values for path in _secure_paths((key,), values[key])]
    return _settings(values, problems, secret)


def sections_in(path: FilePath) -> dict[str, Any]:
    """The sections of a stack file as they are written there, before they are validated. Raises like `from_file`."""
    return {key: value for key, value in _read(path)[2].items() if key in SECTIONS}


def _read(path: FilePath) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A stack file: all of it, what is below `config:`, and the values of our namespace."""
    from settings.stackfile import parse

    content = parse(path)
    config = content.get("config")
    if not isinstance(config, dict):
        raise SettingsError([f"{path.name}: has no config: section; write the settings below it"])
    prefix = f"{NAMESPACE}:"
    values = {key.removeprefix(prefix): value for key, value in config.items() if str(key).startswith(prefix)}
    return content, config, values


def from_sections(sections: Mapping[str, Any]) -> AwsSettings | MetalSettings:
    """The settings that plain sections say, their preset below them. Raises SettingsError with everything wrong."""
    return _settings(sections, [*_unknown_keys(sections, (*SECRETS, *stack_secrets(sections)))], [])


def _settings(values: Mapping[str, Any], problems: list[str], secret: list[Path]) -> AwsSettings | MetalSettings:
    """Validate the sections among `values`; `secret` are paths in them that hold a secret."""
    sections = {key: value for key, value in values.items() if key in SECTIONS}
    problems += (
        f"{written(path)}: a secret inside a section would be shown with it; remove it "
        f"(secrets are keys of their own: {' and '.join(f'{NAMESPACE}:{key}' for key in SECRETS)})"
        for path in secret
    )
    try:
        sections = on_its_preset(sections)
        model = _model(sections.get("platform"))
        settings = model.model_validate(sections)
    except SettingsError as error:
        raise SettingsError([*problems, *error.problems]) from None
    except ValidationError as error:
        about_secrets = tuple(written(path) for path in secret)
        said = sentences(error, model)
        problems += (text for text in said if not about_secrets or not text.startswith(about_secrets))
        raise SettingsError(problems) from None
    if problems:
        raise SettingsError(problems)
    return settings


def _model(platform: Any) -> type[AwsSettings] | type[MetalSettings]:
    """What the sections are read as. Without a platform that is known, nothing else can be judged."""
    path, kinds = written(("platform", "kind")), " or ".join(PLATFORMS)
    if platform is not None and not isinstance(platform, Mapping):
        raise SettingsError([f"{written(('platform',))}: must hold keys, such as kind, and is {echo(platform)}"])
    kind = platform.get("kind") if platform is not None else None
    if kind is None:
        raise SettingsError([f"{path}: is missing; type {kinds}"])
    if not isinstance(kind, str) or kind not in PLATFORMS:
        near = nearest(str(kind), tuple(PLATFORMS))
        guess = f"; did you mean {near}?" if near else ""
        raise SettingsError([f"{path}: must be {kinds}, is {echo(kind)}{guess}"])
    return PLATFORMS[kind]


def on_its_preset(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The sections laid over those of the preset that they name. Raises SettingsError if it is not shipped."""
    name, path = sections.get("preset"), written(("preset",))
    if name is None:
        return dict(sections)
    if not isinstance(name, str) or name not in preset_names():
        raise SettingsError([f"{path}: there is no preset {echo(name)}; {meant(str(name), preset_names())}"])
    shipped = preset(name)
    kind, wanted = shipped["platform"]["kind"], sections.get("platform")
    given = wanted.get("kind", kind) if isinstance(wanted, Mapping) else kind
    if given != kind:
        sentence = f"preset {name} is of kind {kind}, and this is {given}; remove the key or take another preset"
        raise SettingsError([f"{written(('platform', 'kind'))}: {sentence}"])
    return {**merged(shipped, sections), "preset": name}


def _parsed(text: str | None) -> Any:
    """A configuration value: JSON for sections, plain text for a scalar that somebody wrote in a section's place."""
    try:
        return json.loads(text) if text is not None else None
    except ValueError:
        return text


def stack_secrets(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The secrets that sections and those of their preset name, as they are written; no section's own name."""
    # Who validates the sections tells what is wrong with their preset.
    with suppress(SettingsError):
        values = on_its_preset(values)
    return tuple(each for each in named_secrets(values) if each not in SECTIONS)


def _unknown_keys(keys: Iterable[str], secrets: Sequence[str]) -> Iterable[str]:
    for key in keys:
        if key not in SECTIONS and key not in secrets:
            yield f"{NAMESPACE}:{key}: is not a key; {meant(key, (*SECTIONS, *secrets))}"


def _clear_secrets(clear: Iterable[str], secrets: Sequence[str]) -> Iterable[str]:
    for key in clear:
        if key in secrets:
            yield (
                f"{NAMESPACE}:{key}: is in clear text; change the secret and type pulumi config set --secret"
                f" {NAMESPACE}:{key}"
            )


def _is_secure(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"secure"}


def _secure_paths(path: Path, value: Any) -> Iterable[Path]:
    if isinstance(value, dict):
        if "secure" in value:
            yield path
        for key, below in value.items():
            yield from _secure_paths((*path, key), below)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _secure_paths((*path, index), below)


def _misplaced(content: Mapping[str, Any]) -> Iterable[str]:
    """Settings beside `config:` instead of below it: Pulumi accepts the file and ignores them."""
    for key in content:
        if key not in _BESIDE_CONFIG:
            yield f"{key}: is next to config:, where Pulumi ignores it; move it below config:"


def _unread_keys(keys: Iterable[str]) -> Iterable[str]:
    """Settings that nothing reads: of Pulumi's own AWS provider, since each of the program's is made explicitly, of a
    misspelt namespace or of none."""
    for key in keys:
        namespace, _, name = str(key).rpartition(":")
        if not namespace or (namespace != NAMESPACE and nearest(namespace, (NAMESPACE,))):
            guess = f"did you mean {NAMESPACE}:{name}?" if name in SECTIONS else "remove it"
            yield f"{bare(key)}: is not read by this program; {guess}"
        elif namespace == "aws":
            instead = {"aws:region": "platform.region", "aws:profile": "platform.profile"}.get(key)
            here = f"; {written(tuple(instead.split('.')))} is what counts" if instead else ""
            yield f"{key}: is not read by this program{here}; remove it"


def _default_providers(config: Mapping[str, Any]) -> Iterable[str]:
    if config.get(_NO_DEFAULT_PROVIDERS) != ["*"]:
        yield f'{_NO_DEFAULT_PROVIDERS}: must be ["*"], so that nothing is deployed with ambient credentials; type it'
