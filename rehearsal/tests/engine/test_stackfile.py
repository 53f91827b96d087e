"""The private copy of a stack file: only secrets change, every other byte stays."""

from pathlib import Path

import pytest
import yaml

from rehearsal.engine.stackfile import (
    StackFileError,
    aws_profile,
    declared_secrets,
    find_secrets,
    private_copy,
    program_root,
    runtime_options,
    stack_file,
)

REAL = """\
# the production stack
secretsprovider: awskms://alias/pulumi?region=us-east-1   # the user's own key
encryptedkey: AQICAHj
config:
  gpucluster:platform: # keep this comment
    expiry: 2026-12-31
    share: 1.50
    nested: [{token: {secure: v1:aaa:bbb}}, 007]
  gpucluster:hfToken:
    secure: >-
      v1:long
      folded
  "gpucluster:plain": {a: 1,   b: "x"}
"""


def test_only_secrets_and_the_secrets_provider_change() -> None:
    sealed = {
        "gpucluster:platform.nested.0.token": "v1:N:1",
        "gpucluster:hfToken": "v1:N:2",
        "gpucluster:api": "v1:N:3",
    }
    copy = private_copy(REAL, sealed, ["gpucluster:hfToken", "gpucluster:api"], "v1:SALT")
    assert copy == (
        "# the production stack\n"
        "config:\n"
        "  gpucluster:api:\n"
        "    secure: v1:N:3\n"
        "  gpucluster:platform: # keep this comment\n"
        "    expiry: 2026-12-31\n"
        "    share: 1.50\n"
        "    nested: [{token: {secure: v1:N:1}}, 007]\n"
        "  gpucluster:hfToken:\n"
        "    secure: v1:N:2\n"
        '  "gpucluster:plain": {a: 1,   b: "x"}\n'
        "encryptionsalt: v1:SALT\n"
    )


def test_a_file_without_secrets_stays_byte_for_byte_but_for_the_salt() -> None:
    text = "config:\n  p:a: 1.0   \n\n  p:b: 2026-01-01"
    assert private_copy(text, {}, [], "v1:S") == text + "\nencryptionsalt: v1:S\n"


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "config:\n", "config: {}\n", "config: {p:x: 1}\n", "config:\n  p:x: 1\n", "a: 1"]
)
def test_a_declared_secret_comes_in_wherever_config_stands(text: str) -> None:
    copy = yaml.safe_load(private_copy(text, {"p:token": "v1:c:c"}, ["p:token"], "v1:S"))
    assert copy["config"]["p:token"] == {"secure": "v1:c:c"}
    assert copy["encryptionsalt"] == "v1:S"


def test_secrets_are_named_by_their_place() -> None:
    assert [secret.key for secret in find_secrets(REAL, ["gpucluster:hfToken", "gpucluster:api"])] == [
        "gpucluster:platform.nested.0.token",
        "gpucluster:hfToken",
        "gpucluster:api",
    ]


def test_declared_secrets_get_the_projects_namespace(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text(
        "name: gpu\nruntime: python\n"
        "config:\n  api: {secret: true}\n  gpu:hf:\n    secret: true\n  open: {type: string}\n  x: 1\n"
    )
    assert declared_secrets(tmp_path) == ["gpu:api", "gpu:hf"]


def test_a_missing_stack_file_names_those_that_exist(tmp_path: Path) -> None:
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.prod.yaml"):
        (tmp_path / name).write_text("")
    with pytest.raises(StackFileError, match=r"Pulumi\.lab\.yaml does not exist; stacks here: dev, prod\."):
        stack_file(tmp_path, "lab")


@pytest.mark.parametrize("text", ["config: [", "- a\n", "{config: {}}", "config: word"])
def test_what_is_no_stack_file_is_refused(text: str) -> None:
    with pytest.raises(StackFileError):
        private_copy(text, {"p:x": "c"}, ["p:x"], "v1:S")


def test_the_program_is_found_upward_and_without_one_the_error_says_what_to_do(tmp_path: Path) -> None:
    below = tmp_path / "program" / "charts" / "one"
    below.mkdir(parents=True)
    with pytest.raises(StackFileError, match=rf"no Pulumi\.yaml in {below} or above it: .* or name it with --root\."):
        program_root(below)
    (tmp_path / "program" / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    assert program_root(below) == tmp_path / "program"


@pytest.mark.parametrize(
    ("runtime", "options"),
    [("python", {}), ("{name: python}", {}), ("{name: python, options: {virtualenv: v}}", {"virtualenv": "v"})],
)
def test_the_options_of_the_runtime(runtime: str, options: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text(f"name: p\nruntime: {runtime}\n")
    assert runtime_options(tmp_path) == options


def test_another_language_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: nodejs\n")
    with pytest.raises(StackFileError, match="`runtime: nodejs`; a rehearsal runs programs in Python only"):
        runtime_options(tmp_path)


def test_the_profile_of_the_default_provider() -> None:
    assert aws_profile("config:\n  aws:profile: team\n  p:profile: other\n") == "team"
    assert aws_profile("config:\n  p:x: 1\n") is None
    assert aws_profile("") is None


@pytest.mark.parametrize("text", ["config:\n  a: &a [*a]\n", None])
def test_aliases_that_grow_are_refused_at_once(text: str | None) -> None:
    """Ten aliases in each of nine lines are a thousand million values, written out."""
    lines = ["  a0: &a0 [x]", *(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10))]
    with pytest.raises(StackFileError, match="without aliases of aliases"):
        find_secrets(text or "config:\n" + "\n".join(lines) + "\n", [])
