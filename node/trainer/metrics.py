"""What rank 0 tells Prometheus of the run; docs/dashboards.md has the names."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TYPES = {
    "training_step": "gauge",
    "training_step_seconds": "gauge",
    "training_tokens_total": "counter",
    "training_loss": "gauge",
    "training_checkpoint_timestamp_seconds": "gauge",
    "training_checkpoint_pause_seconds": "gauge",
}


class Metrics:
    """Numbers of the run, as they were last set; what was never set is not told."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}
        self._lock = threading.Lock()

    def set(self, **values: float) -> None:
        """Numbers by their names without `training_`. Raises KeyError for one that nobody asks for."""
        named = {f"training_{name}": value for name, value in values.items()}
        if unknown := sorted(named.keys() - TYPES.keys()):
            raise KeyError(f"{', '.join(unknown)} is not a metric of a run")
        with self._lock:
            self._values.update(named)

    def add(self, name: str, amount: float) -> None:
        """Counts on; the run's own thread alone sets and adds."""
        self.set(**{name: self._values.get(f"training_{name}", 0.0) + amount})

    def text(self) -> str:
        """Prometheus' text format."""
        with self._lock:
            return "".join(
                f"# TYPE {name} {TYPES[name]}\n{name} {value:.10g}\n" for name, value in self._values.items()
            )


def serve(metrics: Metrics, port: int, host: str = "") -> ThreadingHTTPServer:
    """Answers /metrics on a port, in the background, until the process ends; without `host` on the pod's address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path.split("?")[0] == "/metrics"
            body = metrics.text().encode() if found else b"metrics are at /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A scrape every 15 s is nothing to log."""

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
