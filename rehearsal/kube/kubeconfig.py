"""Reads a kubeconfig into what a client needs: server, TLS, credentials, namespace."""

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rehearsal.kube.credentials import CommandToken, Credentials, StaticToken
from rehearsal.kube.tls import Connection


@dataclass(frozen=True)
class Access:
    """One context of a kubeconfig, resolved."""

    server: str
    namespace: str
    tls: ssl.SSLContext
    server_name: str | None
    credentials: Credentials


def load(text_or_path: str, context: str | None = None) -> Access:
    """Reads a kubeconfig from its text or a file's path. Raises ValueError naming what is missing."""
    document = _parse(text_or_path)
    wanted = context or document.get("current-context")
    if not wanted:
        raise ValueError("the kubeconfig has no current-context: name a context")
    chosen = _entry(document, "contexts", "context", wanted)
    cluster = _entry(document, "clusters", "cluster", str(chosen.get("cluster")))
    user = _entry(document, "users", "user", str(chosen.get("user"))) if chosen.get("user") else {}
    if not cluster.get("server"):
        raise ValueError(f"the kubeconfig's cluster {chosen.get('cluster')!r} has no server")
    return Access(
        server=str(cluster["server"]).rstrip("/"),
        namespace=str(chosen.get("namespace") or "default"),
        tls=_tls(cluster, user),
        server_name=cluster.get("tls-server-name"),
        credentials=_credentials(cluster, user),
    )


def active_cluster(text_or_path: str, context: str | None = None) -> Mapping[str, Any] | None:
    """The cluster entry that a kubeconfig leads to, None if it leads to none. Raises ValueError if it is unreadable."""
    document = _parse(text_or_path)
    try:
        chosen = _entry(document, "contexts", "context", str(context or document.get("current-context")))
        return _entry(document, "clusters", "cluster", str(chosen.get("cluster")))
    except ValueError:
        return None


def _parse(text_or_path: str) -> Mapping[str, Any]:
    text = text_or_path
    if "\n" not in text_or_path and not text_or_path.lstrip().startswith("{"):
        path = Path(text_or_path).expanduser()
        try:
            text = path.read_text()
        except OSError as error:
            raise ValueError(f"the kubeconfig {text_or_path!r} cannot be read: {error.strerror}") from None
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ValueError("the kubeconfig is not YAML") from None
    if not isinstance(document, dict):
        raise ValueError("the kubeconfig is not a mapping")  # noqa: TRY004 - callers catch one kind of error
    return document


def _entry(document: Mapping[str, Any], section: str, key: str, name: str) -> Mapping[str, Any]:
    for item in document.get(section) or []:
        if item.get("name") == name:
            return dict(item.get(key) or {})
    raise ValueError(f"the kubeconfig has no entry {name!r} under {section}")


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext:
    authority = _inline(cluster, "certificate-authority")
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    tls.sslsocket_class = Connection
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    certificate, key = _inline(user, "client-certificate"), _inline(user, "client-key")
    if certificate and key:
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(certificate + b"\n" + key)
            pair.flush()
            tls.load_cert_chain(pair.name)
    return tls


def _inline(entry: Mapping[str, Any], field: str) -> bytes | None:
    """A certificate or key: inline as `<field>-data` in base64, or a file's path under `<field>`."""
    if data := entry.get(f"{field}-data"):
        return base64.b64decode(data)
    if path := entry.get(field):
        return Path(path).read_bytes()
    return None


def _credentials(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> Credentials:
    if command := user.get("exec"):
        return CommandToken(command, cluster)
    if token_file := user.get("tokenFile"):
        return StaticToken(Path(token_file).read_text().strip(), f"the token in {token_file}")
    if token := user.get("token"):
        return StaticToken(str(token), "the kubeconfig's token")
    if user.get("client-certificate") or user.get("client-certificate-data"):
        return StaticToken(None, "the kubeconfig's client certificate")
    return StaticToken(None, "no credentials (the kubeconfig's user has none)")
