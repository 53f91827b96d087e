"""Tokens and the kubeconfig stand nowhere in clear: state, outputs, logs, command lines, previews (N05).

The values are those that the CLI decrypts; each check is shown to find a leak that was made on purpose.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rehearsal import places, toolchain
from rehearsal.engine import home, state
from rehearsal.engine.run import Engine
from rehearsal.engine.workspace import open_workspace

from .leaks import CommandLines, forms, leaks_below, leaks_in, secret_values
from .rehearsed import Rehearsed, until
from .survivor import Survivor
from .trees import Tree

pytest_plugins = ["tests.engine.survivor_fixture"]
pytestmark = pytest.mark.engine

TOKENS = {"gpucluster:apiToken"}
LEAKING = """\
import pulumi

token = pulumi.Config().require_secret("apiToken")
pulumi.export("token", {value})
"""


@pytest.fixture(scope="module")
def wanted(dev: Rehearsed) -> dict[bytes, str]:
    return forms(secret_values(dev.session.engine))


def sealed_kubeconfigs(engine: Engine) -> list[str]:
    """The kubeconfigs that the state keeps sealed, decrypted; there is at least one."""
    entries = state.resources(engine.export(show_secrets=True))
    found = (state.plain(entry.get("inputs") or {}).get("kubeconfig") for entry in entries)
    texts = [each for each in found if each]
    assert texts
    return texts


def test_the_token_and_the_kubeconfig_are_what_is_looked_for(dev: Rehearsed, wanted: dict[bytes, str]) -> None:
    assert set(wanted.values()) >= TOKENS
    assert {json.dumps(each)[1:-1].encode() for each in sealed_kubeconfigs(dev.session.engine)} <= wanted.keys()


def test_nothing_that_the_site_keeps_holds_a_secret_in_clear(dev: Rehearsed, wanted: dict[bytes, str]) -> None:
    """State, its history and backups, event logs, the logs of every process, the private stack file."""
    shown = dev.preview("--diff")
    assert shown.status == 0, shown.explain()
    assert leaks_below(dev.directory.path, wanted) == {}
    kept = {path.relative_to(dev.directory.path).parts[0] for path in dev.directory.path.rglob("*") if path.is_file()}
    assert {"backend", "log", "pulumi", "stacks"} <= kept


def test_outputs_and_exports_hold_no_secret(dev: Rehearsed, wanted: dict[bytes, str]) -> None:
    engine = dev.session.engine
    for words in (("stack", "output", "--json"), ("stack", "export"), ("stack",), ("config",)):
        options = ["--stack", engine.stack] + (
            ["--config-file", str(engine.config_file)] if words == ("config",) else []
        )
        assert leaks_in(engine.ask(*words, *options).encode(), wanted) == set(), words


def test_the_kubeconfig_holds_no_credential(dev: Rehearsed) -> None:
    """It names a command that fetches a token of the hour; tokens are written down nowhere."""
    for text in sealed_kubeconfigs(dev.session.engine):
        for entry in yaml.safe_load(text)["users"]:
            assert entry["user"].keys() == {"exec"}
            assert entry["user"]["exec"]["command"] == "aws"
    # A token goes on with an address in base64; the prefix alone stands in what the authenticator says of others.
    assert leaks_below(dev.directory.path, {b"k8s-aws-v1.aHR0c": "a bearer token"}) == {}


def test_no_command_line_and_no_command_shows_a_secret(survivor: Survivor) -> None:
    """Looked at while the stack was applied, killed, recovered, applied again and destroyed."""
    if not survivor.secrets:
        survivor.converge()
    lines = b"\n".join(survivor.seen.lines)
    for program in (b"bin/pulumi", b"rehearsal.plugins.aws", b"rehearsal.plugins.kubernetes", b"kube-apiserver"):
        assert program in lines, program
    assert b"eks get-token" in lines
    assert leaks_in(lines, survivor.secrets) == set()
    assert leaks_in("\n".join(survivor.said).encode(), survivor.secrets) == set()


@pytest.mark.parametrize(("value", "leaks"), [("token", False), ("pulumi.Output.unsecret(token)", True)])
def test_a_tree_that_exports_a_token_plainly_is_caught(tmp_path: Path, value: str, leaks: bool) -> None:
    """By the very check that passes for the dev stack; exported as a secret, it passes, too."""
    tree = Tree.copy(tmp_path / "tree")
    tree.write("__main__.py", LEAKING.format(value=value))
    site = places.SiteDirectory(tmp_path / "site")
    made = home.prepare(site, toolchain.ensure(["pulumi"])["pulumi"], "http://127.0.0.1:1")
    engine = open_workspace(site, made, tree.root, "dev").engine
    engine.up().require()
    found = leaks_below(site.path, forms(secret_values(engine)))
    assert bool(found) is leaks, found
    if leaks:
        folders = {str(Path(name).parent) for name in found}
        assert {"backend/.pulumi/stacks/gpucluster"} <= folders
        assert set().union(*found.values()) == {"gpucluster:apiToken"}


def test_a_token_on_a_command_line_is_caught() -> None:
    token = "not-a-secret-of-anybody"
    child = subprocess.Popen([sys.executable, "-c", "input()", token], stdin=subprocess.PIPE)
    try:
        seen = CommandLines(child.pid)

        def caught() -> bool:
            seen.look()
            return leaks_in(b"\n".join(seen.lines), forms({"test": {token}})) == {"test"}

        until(caught, "the command line")
    finally:
        child.communicate(b"\n")


def test_a_secret_is_found_in_every_form_it_takes() -> None:
    looked_for = forms({"file": {'{"token": "a-token-with-\\"quotes\\""}'}})
    for text in ('{"token": "a-token-with-\\"quotes\\""}', json.dumps('{"token": "a-token-with-\\"quotes\\""}')):
        assert leaks_in(text.encode(), looked_for) == {"file"}
    assert leaks_in(b"a-token-with", looked_for) == set()
