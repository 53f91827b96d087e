"""A real nginx before a small server, where this machine has one (Debian: nginx-light), and the one of rehearsals."""

import http.client
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from components.gateway.sign_in import PORT as JUDGE_PORT
from components.serving.arguments import ENGINE_PORT, PORT
from components.serving.door import RULES
from components.serving.door_rules import CONFIG, JUDGE, NAMES, SCRATCH, VLLM, Behind, rules
from components.serving.keys import ADMITTED, admitted
from rehearsal.cluster.pages import Answer, Request
from rehearsal.images import nginx_rules

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
Ask = Callable[..., tuple[int, str, str]]
"""Path, key and method; answered with status, content type and body."""

WHY = "no nginx on this machine: apt-get install nginx-light"


class Upstream(ThreadingHTTPServer):
    """Answers every request with its path; /v1/stream sends a second piece only when `more` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str | None]] = []
        self.more = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Upstream

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        self.send_response(200)
        if self.path == "/v1/stream":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self._chunk(b"first ")
            self.server.more.wait(30)
            self._chunk(b"second")
            self._chunk(b"")
            return
        self.send_header("Content-Length", str(len(self.path)))
        self.end_headers()
        self.wfile.write(self.path.encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def _chunk(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def placed(
    directory: Path,
    keys: list[str],
    port: int,
    engine: int,
    behind: Behind = VLLM,
    groups: Sequence[str] = (),
    judge: int = 1,
) -> Path:
    """The rendered configuration with the container's paths and ports changed to those of this machine."""
    (directory / "keys").mkdir(parents=True)
    (directory / "keys" / ADMITTED).write_text(admitted(keys))
    text = rules(behind, groups).replace(NAMES, "127.0.0.1").replace(JUDGE, "127.0.0.1")
    text = text.replace(f"$judge:{JUDGE_PORT}/", f"$judge:{judge}/")
    for inside in (ENGINE_PORT, behind.metrics_port):
        text = text.replace(f"127.0.0.1:{inside}", f"127.0.0.1:{engine}")
    text = text.replace(f"listen {PORT};", f"listen 127.0.0.1:{port};")
    text = text.replace(f" {SCRATCH}/", f" {directory}/").replace(CONFIG, str(directory))
    (directory / RULES).write_text(text)
    return directory / RULES


def command(config: Path, *words: str) -> list[str]:
    return [str(NGINX), "-e", "stderr", "-c", str(config), *words]


@contextmanager
def running(
    directory: Path, keys: list[str], behind: Behind = VLLM, groups: Sequence[str] = (), judge: int = 1
) -> Iterator[tuple[Upstream, int]]:
    """The door with these keys; the server behind it, and the port in front. Who judges tokens listens at `judge`."""
    upstream = Upstream()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = placed(directory, keys, port, upstream.server_address[1], behind, groups, judge)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    process = subprocess.Popen(command(config, "-g", "daemon off;"), stderr=subprocess.PIPE)
    try:
        _until_it_listens(process, port)
        yield upstream, port
    finally:
        upstream.more.set()
        process.terminate()
        process.communicate(timeout=10)
        upstream.shutdown()
        upstream.server_close()


def _until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except ConnectionRefusedError:
            continue
        return
    raise AssertionError(process.communicate()[1].decode())


def asked(port: int, path: str, key: str | None = None, method: str = "GET") -> tuple[int, str, str]:
    """Status, content type and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, path)
        if key is not None:
            connection.putheader("Authorization", f"Bearer {key}")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type") or "", answer.read().decode()
    finally:
        connection.close()


def simulated(keys: list[str], behind: Behind, server: Callable[[int, Request], Answer | None]) -> Ask:
    """The nginx of rehearsals with the same files, before such a server."""
    files = {f"{CONFIG}/rules/{RULES}": rules(behind), f"{CONFIG}/keys/{ADMITTED}": admitted(keys)}
    read = nginx_rules.read(files, f"{CONFIG}/rules/{RULES}")

    def asked(path: str, key: str | None = None, method: str = "GET") -> tuple[int, str, str]:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        answer = nginx_rules.answered(read, Request(method, path, headers=headers), server)
        return answer.status, answer.content_type, str(answer.content)

    return asked
