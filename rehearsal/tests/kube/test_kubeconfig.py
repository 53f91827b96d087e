"""What a kubeconfig may look like, and what is said about one that cannot be used."""

import gc
import json
import select
import socket
import struct
import warnings
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


def test_a_server_that_resets_before_tls_begins_leaves_no_socket_open() -> None:
    access = kubeconfig.load(document())
    with warnings.catch_warnings(record=True) as told, socket.create_server(("127.0.0.1", 0)) as server:
        warnings.simplefilter("always", ResourceWarning)
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()
        select.select([client], [], [], 5)
        with pytest.raises(OSError, match="the other side has gone"):
            access.tls.wrap_socket(client, server_hostname="127.0.0.1")
        gc.collect()
    assert [str(each.message) for each in told] == []
