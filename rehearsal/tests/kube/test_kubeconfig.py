"""What a kubeconfig may look like, and what is said about one that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rehearsal.kube import kubeconfig
from rehearsal.kube.client import Kube


def document(**changes: Any) -> str:
    base: dict[str, Any] = {
        "current-context": "a",
        "contexts": [
            {"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "training"}},
            {"name": "b", "context": {"cluster": "c", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443/", "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    return json.dumps({**base, **changes})


def test_text_and_path_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(document())
    for given in (document(), str(path)):
        access = kubeconfig.load(given)
        assert (access.server, access.namespace) == ("https://127.0.0.1:6443", "training")
        assert access.credentials.token() == "t"


def test_context_decides_the_namespace() -> None:
    assert kubeconfig.load(document(), "b").namespace == "default"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/no/such/file", "cannot be read"),
        ("a: [\n", "not YAML"),
        ("- 1\n- 2\n", "not a mapping"),
        (document(**{"current-context": None}), "no current-context"),
        (document(**{"current-context": "z"}), "no entry 'z' under contexts"),
        (document(users=[]), "no entry 'u' under users"),
        (document(clusters=[{"name": "c", "cluster": {}}]), "has no server"),
        (document(users=[{"name": "u", "user": {"exec": {"apiVersion": "v0", "command": "x"}}}]), "speaks 'v0'"),
    ],
)
def test_unusable_kubeconfig_is_explained(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Kube.from_kubeconfig(text)
