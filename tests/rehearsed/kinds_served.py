"""An API server's reading part, for a controller that looks at objects and writes what it found: lists and watches."""

import json
import threading
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import yaml

from rehearsal.toolchain.manifests import manifest

Object = dict[str, Any]


def defaulted(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value with the defaults of a definition's schema, as an API server stores it.

    Source: Kubernetes documentation, CustomResourceDefinition, Defaulting: where a key is missing, then below it.
    """
    if isinstance(value, dict):
        known = schema.get("properties") or {}
        missing = {key: each["default"] for key, each in known.items() if key not in value and "default" in each}
        return {key: defaulted(each, known.get(key, {})) for key, each in {**missing, **value}.items()}
    if isinstance(value, list):
        return [defaulted(each, schema.get("items") or {}) for each in value]
    return value


def stored(obj: Object, plural: str) -> Object:
    """An object of the Gateway API as it is stored."""
    path = f"config/crd/standard/gateway.networking.k8s.io_{plural}.yaml"
    definition = yaml.safe_load(manifest("traefik", path, "sigs.k8s.io/gateway-api").read_text())
    whole: Object = defaulted(obj, definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    return whole


class Served:
    """Objects by their collection's path (`/apis/GROUP/VERSION/PLURAL`); other collections are empty.

    `told` is what was written, status by status, by the name of its object.
    """

    def __init__(self, objects: Mapping[str, Iterable[Object]], kinds: Mapping[str, str]) -> None:
        meta = {"uid": "1", "resourceVersion": "1", "generation": 1, "creationTimestamp": "2026-11-23T12:00:00Z"}
        self.objects = {
            path: [{**each, "metadata": {**meta, **each["metadata"]}} for each in found]
            for path, found in objects.items()
        }
        self.kinds, self.told = kinds, dict[str, Object]()
        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, self._ended))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def listed(self, path: str) -> Object:
        *_, version, plural = path.split("/")
        group = path.split("/")[2] if path.startswith("/apis/") else ""
        return {
            "apiVersion": f"{group}/{version}" if group else version,
            "kind": f"{self.kinds[plural]}List",
            "metadata": {"resourceVersion": "1"},
            "items": self.objects.get(path, []),
        }

    def one(self, path: str) -> Object | None:
        return next(
            (
                each
                for collection, found in self.objects.items()
                for each in found
                if path.endswith(f"/{collection.rpartition('/')[2]}/{each['metadata']['name']}")
            ),
            None,
        )


def _handler(served: Served, ended: threading.Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def answer(self, content: Object, status: int = 200) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if "sendInitialEvents=true" in query:
                # A server that does not stream lists: the client lists as ever (client-go, tools/cache/reflector.go).
                self.answer({"kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422}, 422)
            elif "watch=" in query:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                ended.wait()
                self.close_connection = True
            elif (found := served.one(path)) is not None:
                self.answer(found)
            else:
                self.answer(served.listed(path))

        def do_PUT(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.told[content["metadata"]["name"]] = content["status"]
            self.answer(content)

    return Handler
