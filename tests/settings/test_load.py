"""Both loaders: what the running program reads is what the file says."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime.config import _SECRET_KEYS, CONFIG

from settings.errors import SettingsError
from settings.load import SECRETS, SECTIONS, from_file, from_pulumi, stack_secrets
from settings.model import PLATFORMS

ROOT = Path(__file__).parents[2]
SHIPPED = [ROOT / f"Pulumi.{name}.yaml" for name in ("dev", "lab", "metal", "prod")]
STACK_FILES = sorted([*SHIPPED, *(Path(__file__).parent / "corpus" / "good").glob("*.yaml")])


@pytest.fixture(autouse=True)
def _configuration() -> Iterator[None]:
    """Give every test a configuration of its own."""
    config, secret = CONFIG.set({}), _SECRET_KEYS.set(set())
    yield
    CONFIG.reset(config)
    _SECRET_KEYS.reset(secret)


def _set(values: dict[str, Any], secret: list[str] | None = None) -> pulumi.Config:
    """Hand over a configuration as the engine does: sections as JSON text, scalars as they are."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    pulumi.runtime.set_all_config(texts, secret or [])
    return pulumi.Config("gpucluster")


def _sections(stack: str = "dev") -> dict[str, Any]:
    content = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    return {key: value for key, value in content["config"].items() if key.startswith("gpucluster:")}


@pytest.mark.parametrize("path", STACK_FILES, ids=lambda path: path.name)
def test_both_loaders_give_the_same_settings(path: Path) -> None:
    """Z16: for every committed stack file, the running program and the file agree."""
    config = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]
    assert from_pulumi(_set(config)).settings == from_file(path)


def test_settings_are_frozen_and_hashable() -> None:
    """Settings cannot change after they were planned."""
    settings = from_file(ROOT / "Pulumi.dev.yaml")
    assert hash(settings) == hash(from_file(ROOT / "Pulumi.dev.yaml"))
    with pytest.raises(ValueError, match="frozen"):
        settings.pools[0].count = 7


def test_no_settings_field_can_hold_a_secret() -> None:
    """Y11: secrets are top-level keys of their own, and no section has a field of their name."""
    assert set(SECRETS).isdisjoint(SECTIONS)
    text = json.dumps([model.model_json_schema() for model in PLATFORMS.values()])
    assert not any(f'"{secret}":' in text for secret in SECRETS)


def test_secrets_stay_in_the_configuration() -> None:
    """Y11: the loader passes secrets on unread; they reach stacks as Outputs through require_secret."""
    values = {**_sections(), "gpucluster:hfToken": "hf_secret", "gpucluster:apiToken": "api_secret"}
    loaded = from_pulumi(_set(values, ["gpucluster:hfToken", "gpucluster:apiToken"]))
    assert [each for each in ("hf_secret", "api_secret") if each in repr(loaded.settings)] == []
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        token = loaded.config.require_secret("hfToken")
        assert loop.run_until_complete(token.is_secret())
        assert loop.run_until_complete(token.future()) == "hf_secret"
    finally:
        loop.close()


def test_running_program_refuses_what_the_file_loader_refuses() -> None:
    """Unknown keys, clear secrets, secrets inside sections and wrong values, all at once and none echoed."""
    values = {
        **_sections(),
        "gpucluster:pool": "x",
        "gpucluster:apiToken": "token-in-clear",
        "gpucluster:budget": {"maxHourlyUsd": 0},
    }
    with pytest.raises(SettingsError) as caught:
        from_pulumi(_set(values, ["gpucluster:security", "gpucluster:storage"]))
    assert caught.value.problems == (
        "gpucluster:pool: is not a key; did you mean pools?",
        "gpucluster:apiToken: is in clear text; change the secret and type pulumi config set --secret"
        " gpucluster:apiToken",
        "gpucluster:storage: a secret inside a section would be shown with it; remove it "
        "(secrets are keys of their own: gpucluster:hfToken and gpucluster:apiToken)",
        "gpucluster:budget.maxHourlyUsd: must be more than 0, is 0",
    )
    assert "token-in-clear" not in str(caught.value)


RECEIVER = {"receivers": [{"name": "team", "kind": "webhook", "secret": "teamUrl"}]}


def test_what_a_receiver_names_is_a_secret_x02() -> None:
    """Its key is known by the receiver that names it: sealed it is passed on, in clear it is refused unread."""
    values = {**_sections(), "gpucluster:monitoring": RECEIVER, "gpucluster:teamUrl": "https://hooks.example.com/abc"}
    loaded = from_pulumi(_set(values, ["gpucluster:teamUrl"]))
    assert "hooks.example.com" not in repr(loaded.settings)
    with pytest.raises(SettingsError) as caught:
        from_pulumi(_set(values, []))
    assert caught.value.problems == (
        "gpucluster:teamUrl: is in clear text; change the secret and type pulumi config set --secret"
        " gpucluster:teamUrl",
    )


def test_a_secret_that_no_receiver_names_is_not_a_key() -> None:
    values = {**_sections(), "gpucluster:monitoring": {}, "gpucluster:teamUrl": "https://hooks.example.com/abc"}
    with pytest.raises(SettingsError, match="gpucluster:teamUrl: is not a key"):
        from_pulumi(_set(values, ["gpucluster:teamUrl"]))


@pytest.mark.parametrize("monitoring", [None, {}, [], {"receivers": 3}, {"receivers": ["a", {"secret": 4}]}])
def test_sections_of_any_shape_name_no_secret(monitoring: Any) -> None:
    assert stack_secrets({"monitoring": monitoring}) == ()


def test_a_receiver_takes_no_section_for_its_secret() -> None:
    assert stack_secrets({"monitoring": {"receivers": [{"secret": "pools"}, {"secret": "url"}]}}) == ("url",)


def test_a_service_names_the_secrets_that_let_callers_in() -> None:
    serving = {"services": [{"keys": ["chatKey", "chatKeyBefore"]}, {"keys": 3}, {}, {"keys": ["pools", 4]}]}
    assert stack_secrets({"serving": serving}) == ("chatKey", "chatKeyBefore")


def test_other_namespaces_are_left_alone() -> None:
    """Configuration of other projects is nobody's business here."""
    values = {**_sections(), "kubernetes:context": "x", "other:pools": "x"}
    assert from_pulumi(_set(values)).settings == from_file(ROOT / "Pulumi.dev.yaml")


@pytest.mark.parametrize("read", [from_pulumi, from_file], ids=["program", "file"])
def test_the_provider_s_own_region_is_not_read(read: Callable[[Any], object], tmp_path: Path) -> None:
    """Newcomer's row C11: `pulumi config set aws:region` out of habit says what counts instead."""
    file = tmp_path / "Pulumi.x.yaml"
    text = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("config:\n", "config:\n  aws:region: eu-west-1\n", 1), encoding="utf-8")
    given: Any = _set({**_sections(), "aws:region": "eu-west-1"}) if read is from_pulumi else file
    with pytest.raises(SettingsError) as wrong:
        read(given)
    said = "aws:region: is not read by this program; gpucluster:platform.region is what counts; remove it"
    assert wrong.value.problems == (said,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Pulumi.x.yaml: is empty; start it with config:"),
        ("encryptionsalt: v1:x", "Pulumi.x.yaml: has no config: section; write the settings below it"),
        ("config: {a: [}", "Pulumi.x.yaml, line 1: expected the node content, but found '}'; correct the YAML"),
    ],
)
def test_file_that_is_no_stack_file(tmp_path: Path, text: str, problem: str) -> None:
    """A file without settings is explained, not traced."""
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        from_file(path)
    assert caught.value.problems == (problem,)


def test_words_that_yaml_1_1_took_for_booleans(tmp_path: Path) -> None:
    """The CLI reads YAML 1.2: `on` is a word there, so it is one here, and both loaders refuse it alike."""
    text = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text(text.replace("owner: ml-platform", "owner: on"), encoding="utf-8")
    assert from_file(path).lifecycle.owner == "on"


def test_a_secret_that_only_the_preset_names_is_a_key_of_the_stack() -> None:
    """A stack of one word runs what its preset has: the passwords of that are set beside it."""
    sections = {"preset": "h200-32n", "lifecycle": {"owner": "ml-platform", "costCentre": "research"}, "example": True}
    assert {"trialDatabase", "trackingDatabase", "pipelinesDatabase"} <= set(stack_secrets(sections))
    values = {f"gpucluster:{key}": json.dumps(value) for key, value in sections.items() if key != "preset"}
    values |= {"gpucluster:preset": "h200-32n", "gpucluster:trialDatabase": "database_secret"}
    assert from_pulumi(_set(values, ["gpucluster:trialDatabase"])).settings.preset == "h200-32n"
