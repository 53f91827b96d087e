"""Serves what was found last as Prometheus reads it, so that no scrape waits for who is asked."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Sample = tuple[str, Mapping[str, str], float]
"""Name, labels, value of a gauge."""


def page(helps: Mapping[str, str], samples: Sequence[Sample]) -> str:
    """The samples as text, by the names that have a help."""
    lines: list[str] = []
    for name, help_ in helps.items():
        lines += [f"# HELP {name} {help_}", f"# TYPE {name} gauge"]
        for _, labels, value in (each for each in samples if each[0] == name):
            told = ",".join(f"{key}={json.dumps(text, ensure_ascii=False)}" for key, text in labels.items())
            lines.append(f"{name}{{{told}}} {value:g}")
    return "\n".join(lines) + "\n"


def served(text: Callable[[], str], address: str, port: int) -> ThreadingHTTPServer:
    """Answers /metrics with what `text` returns."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/metrics"
            content = text().encode() if known else b""
            self.send_response(http.client.OK if known else http.client.NOT_FOUND)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer((address, port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server
