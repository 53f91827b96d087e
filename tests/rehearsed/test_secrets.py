"""Secrets that a rehearsal makes for the receivers and the services of a stack."""

import json

from rehearsed import PROGRAM, account
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
      - {name: chat, weights: 'hf://our-team/chat@COMMIT', keys: [chatKey, chatKeyBefore]}
      - {name: code}
"""


def test_each_secret_that_a_section_names_is_made_once() -> None:
    named = ["hfToken", "chatKey", "chatKeyBefore", "apiToken", "url", "key"]
    assert secrets(FILE) == [f"gpucluster:{each}" for each in named]


def test_files_without_receivers_need_none() -> None:
    for text in ("", "config: {}", "config:\n  gpucluster:monitoring: {}\n  gpucluster:serving: {}\n"):
        assert secrets(text) == []


def test_the_committed_stacks_get_theirs() -> None:
    text = (ROOT / "Pulumi.prod.yaml").read_text()
    found = {key.removeprefix("gpucluster:") for key in PROGRAM.secrets(text)}
    assert found == {"apiToken", "pagerdutyKey", "slackUrl"}


def test_what_is_kept_outside_is_in_the_account_and_not_in_the_file() -> None:
    arn = "arn:aws:secretsmanager:us-east-2:123456789012:secret:hub-AbCdEf"
    kept = """
  gpucluster:externalSecrets:
    secrets:
      chatKey: {id: callers, property: current}
      chatKeyBefore: {id: callers, property: previous}
      hfToken: {id: ARN}
""".replace("ARN", arn)
    assert secrets(FILE + kept) == [f"gpucluster:{each}" for each in ("apiToken", "url", "key")]
    held = account.secrets(FILE + kept)
    assert set(held) == {"callers", arn}
    callers = json.loads(held["callers"])
    assert set(callers) == {"current", "previous"}
    assert callers["current"] != callers["previous"]
    assert PROGRAM.account(FILE + kept).secrets == held
    assert account.secrets(FILE) == {}


def test_a_tracker_gets_its_password_or_its_key() -> None:
    said = {"{}": "trackingDatabase", "{kind: wandb}": "trackingKey", "{secret: own}": "own"}
    for tracking, key in said.items():
        assert secrets(f"config:\n  gpucluster:training:\n    tracking: {tracking}\n") == [f"gpucluster:{key}"]


def test_pipelines_get_the_password_of_their_database() -> None:
    for pipelines, key in {"{}": "pipelinesDatabase", "{secret: own}": "own"}.items():
        assert secrets(f"config:\n  gpucluster:training:\n    pipelines: {pipelines}\n") == [f"gpucluster:{key}"]
