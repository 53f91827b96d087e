"""KEDA's metrics server, played: the API `external.metrics.k8s.io`, of which HPAs of ScaledObjects ask.

It asks the operator for each value, and serves with the certificate that its pod mounts, whose authority the APIService
names. Sources: KEDA v2.20.2, cmd/adapter/main.go, pkg/provider/provider.go (one name, one value, an error else);
k8s.io/metrics, pkg/apis/external_metrics/v1beta1.
"""

import base64
import json
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from rehearsal import places
from rehearsal.cluster.tls import TlsServer
from rehearsal.images.keda.scaled import OWNER_KEY, milli, written
from rehearsal.images.metrics import AUTHENTICATION, PROBES, aggregated, flag, handler
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import Launch, Local, Program, failed

VERSION = "external.metrics.k8s.io/v1beta1"
_TIMEOUT_SECONDS = 3.0


def run(launch: Launch) -> Program:
    """Serves, or ends as the real one does: it must know whom to believe, and have a certificate."""
    try:
        believed = client(launch).get(*AUTHENTICATION)
    except (ApiError, Unreachable) as error:
        return failed(launch, f"unable to load configmap based request-header-client-ca-file: {error}")
    directory = flag(launch.argv, "--cert-dir", "/certs")
    mount = launch.mount_of(directory)
    volumes = {each["name"]: each for each in launch.pod["spec"].get("volumes") or []}
    name = (volumes[mount.name].get("secret") or {}).get("secretName") if mount else None
    secret = launch.world.kube.get("v1", "Secret", name, launch.namespace) if name else None
    if secret is None:
        return failed(launch, f"open {directory}/tls.crt: no such file or directory")
    return ExternalMetrics(launch, secret, (believed or {}).get("data") or {})


class ExternalMetrics(Local):
    """A server on loopback that answers whom `believed` names, with what the operator says."""

    def __init__(self, launch: Launch, secret: Mapping[str, Any], believed: Mapping[str, str]) -> None:
        self._launch, self._port = launch, int(flag(launch.argv, "--secure-port", "6443"))
        self._operator = flag(launch.argv, "--metrics-service-address", "")
        self._http = build_opener(ProxyHandler({"http": launch.world.proxy.url}))
        names = json.loads(believed.get("requestheader-allowed-names") or "[]")
        self._server = TlsServer((places.LOOPBACK, 0), handler(self, names), _tls(launch, secret, believed))
        threading.Thread(target=self._server.serve_forever, name=launch.pod_name, daemon=True).start()
        launch.world.backends.add(launch.namespace, launch.pod_name, self._port, self._server.server_address[1])

    def listens(self, port: int, now: float) -> bool:  # noqa: ARG002
        return port == self._port

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        asked = probe.get("httpGet")
        if asked is None or (port == self._port and asked.get("path") in PROBES):
            return super().refuses(probe, port, now)
        return f"Get https://:{port}{asked.get('path')}: dial tcp: connect: connection refused"

    def answer(self, path: str, query: Mapping[str, str]) -> Any:
        """The object at a path. Raises ApiError."""
        if path == f"/apis/{VERSION}":
            named = {"name": "externalmetrics", "singularName": "", "namespaced": True, "verbs": ["get"]}
            resources = [{**named, "kind": "ExternalMetricValueList"}]
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSION, "resources": resources}
        prefix, _, rest = path.partition(f"/apis/{VERSION}/namespaces/")
        namespace, _, name = rest.partition("/")
        key, _, of = query.get("labelSelector", "").partition("=")
        if prefix or not name or key != OWNER_KEY:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        url = f"http://{self._operator}/?{urlencode({'namespace': namespace, 'metric': name, 'of': of})}"
        try:
            with self._http.open(url, timeout=_TIMEOUT_SECONDS) as told:
                value = json.loads(told.read())["value"]
        except HTTPError as error:
            raise ApiError(500, "InternalError", json.loads(error.read())["error"]) from error
        except OSError as error:
            raise ApiError(500, "InternalError", f"error getting metrics from the operator: {error}") from error
        item = {"metricName": name, "metricLabels": None, "timestamp": written(time.time()), "value": milli(value)}
        return {"kind": "ExternalMetricValueList", "apiVersion": VERSION, "metadata": {}, "items": [item]}

    def stop(self) -> None:
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name, [self._port])
        self._server.shutdown()
        self._server.server_close()


def _tls(launch: Launch, secret: Mapping[str, Any], believed: Mapping[str, str]) -> ssl.SSLContext:
    certificate, key = launch.directory / "tls.crt", launch.directory / "tls.key"
    for path in (certificate, key):
        places.write(path, base64.b64decode(secret["data"][path.name]))
    return aggregated(certificate, key, believed)
