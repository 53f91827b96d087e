"""Secrets that a rehearsal makes for the receivers and the services of a stack."""

from rehearsed import PROGRAM
from rehearsed.secrets import secrets
from tests.graph.stackfiles import ROOT

FILE = """config:
  gpucluster:monitoring:
    receivers:
      - {name: a, kind: webhook, secret: url}
      - {name: b, kind: pagerduty, secret: key}
      - {name: c, kind: webhook, secret: url}
  gpucluster:serving:
    services:
      - {name: chat, keys: [chatKey, chatKeyBefore]}
      - {name: code}
"""


def test_each_secret_that_a_section_names_is_made_once() -> None:
    named = ["url", "key", "chatKey", "chatKeyBefore"]
    assert secrets(FILE) == [f"gpucluster:{each}" for each in named]


def test_files_without_receivers_need_none() -> None:
    for text in ("", "config: {}", "config:\n  gpucluster:monitoring: {}\n  gpucluster:serving: {}\n"):
        assert secrets(text) == []


def test_the_committed_stacks_get_theirs() -> None:
    text = (ROOT / "Pulumi.prod.yaml").read_text()
    assert PROGRAM.secrets(text) == ["gpucluster:pagerdutyKey", "gpucluster:slackUrl"]


def test_a_tracker_gets_its_password_or_its_key() -> None:
    said = {"{}": "trackingDatabase", "{kind: wandb}": "trackingKey", "{secret: own}": "own"}
    for tracking, key in said.items():
        assert secrets(f"config:\n  gpucluster:training:\n    tracking: {tracking}\n") == [f"gpucluster:{key}"]
