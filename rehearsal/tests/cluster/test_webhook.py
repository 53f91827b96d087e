"""The token webhook's answers, and what its log says."""

import gc
import json
import logging
import socket
import ssl
import struct
import warnings
from pathlib import Path
from typing import Any

import pytest
import urllib3

from rehearsal.cluster import layout
from rehearsal.cluster.access import RefusedError, UnansweredError, User
from rehearsal.cluster.layout import Layout
from rehearsal.cluster.webhook import Webhook, review

TOKEN = "k8s-aws-v1.c2VjcmV0"


def refuse(token: str) -> User:
    raise RefusedError("cluster prod has no access entry for arn:aws:iam::1:user/x")


def accept(token: str) -> User:
    assert token == TOKEN
    return User("someone", ("viewers",), "arn:aws:iam::1:user/someone")


def caller(files: Layout) -> urllib3.PoolManager:
    """As the API server calls it."""
    own: dict[str, Any] = {name: str(path) for name, path in certificate(files).items()}
    return urllib3.PoolManager(ca_certs=str(files.ca), cert_reqs=ssl.CERT_REQUIRED, retries=False, **own)


def certificate(files: Layout) -> dict[str, Path]:
    """The API server's own, as it calls the webhook."""
    return {"cert_file": files.certificate("webhook-client"), "key_file": files.key("webhook-client")}


def test_who_has_no_certificate_of_the_cluster_is_not_answered(tmp_path: Path) -> None:
    files, other = Layout(tmp_path / "own"), Layout(tmp_path / "other")
    for each in (files, other):
        layout.write_keys(each)
    webhook = Webhook(files, accept)
    webhook.start()
    stranger: dict[str, Any] = {name: str(path) for name, path in certificate(other).items()}
    nobody: dict[str, Any] = {}
    try:
        for words in (nobody, stranger):
            pool = urllib3.PoolManager(ca_certs=str(files.ca), retries=False, **words)
            with pool, pytest.raises(urllib3.exceptions.HTTPError):
                pool.request("POST", webhook.url, json={"spec": {"token": TOKEN}}, timeout=5)
    finally:
        webhook.stop()


def test_a_known_user_is_authenticated() -> None:
    status = review({"spec": {"token": TOKEN}}, accept)["status"]
    assert status["authenticated"] is True
    assert status["user"]["username"] == "someone"
    assert status["user"]["groups"] == ["viewers"]


def test_a_refusal_is_logged_with_the_arn_and_without_the_token(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        status = review({"spec": {"token": TOKEN}}, refuse)["status"]
    assert status == {
        "authenticated": False,
        "error": "cluster prod has no access entry for arn:aws:iam::1:user/x",
    }
    assert "arn:aws:iam::1:user/x" in caplog.text
    assert TOKEN not in caplog.text


def test_an_account_that_runs_late_refuses_nobody_and_is_asked_again(tmp_path: Path) -> None:
    """The API server asks again after a 500; a refusal it keeps, and its client gives up."""

    def late(token: str) -> User:
        raise UnansweredError("STS does not answer: timed out")

    files = Layout(tmp_path)
    layout.write_keys(files)
    webhook = Webhook(files, late)
    webhook.start()
    try:
        with caller(files) as pool:
            answer = pool.request("POST", webhook.url, json={"spec": {"token": TOKEN}}, timeout=5)
        assert (answer.status, answer.json()["reason"]) == (500, "InternalError")
        assert "authenticated" not in answer.json().get("status", {})
    finally:
        webhook.stop()


def test_it_is_served_over_tls_on_loopback_and_gone_after_stop(tmp_path: Path) -> None:
    files = Layout(tmp_path)
    layout.write_keys(files)
    webhook = Webhook(files, accept)
    webhook.start()
    url = webhook.url
    try:
        assert url.startswith("https://127.0.0.1:")
        with caller(files) as pool:
            answer = pool.request("POST", url, json={"spec": {"token": TOKEN}}, timeout=5)
            assert json.loads(answer.data)["status"]["authenticated"] is True
    finally:
        webhook.stop()
    with urllib3.PoolManager(retries=False) as pool, pytest.raises(urllib3.exceptions.HTTPError):
        pool.request("GET", url, timeout=1)


def test_a_client_that_dies_before_tls_begins_leaves_no_socket_open(tmp_path: Path) -> None:
    """An API server that is killed resets the connections nobody has accepted yet."""
    files = Layout(tmp_path)
    layout.write_keys(files)
    webhook = Webhook(files, accept)
    webhook.start()
    port = urllib3.util.parse_url(webhook.url).port
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ResourceWarning)
            for _ in range(200):
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with caller(files) as pool:
                assert pool.request("POST", webhook.url, json={"spec": {"token": TOKEN}}, timeout=5).status == 200
            gc.collect()
        assert [str(each.message) for each in told] == []
    finally:
        webhook.stop()
