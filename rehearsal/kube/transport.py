"""Requests to one API server: connection pool, credentials, and the patience to wait for a server that is away."""

import copy
import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import urlencode

import urllib3

from rehearsal.kube.errors import ApiError, CredentialsFailed, Unreachable
from rehearsal.kube.kubeconfig import Access

CONNECT_SECONDS = 5.0
READ_SECONDS = 70.0
CLIENT_GO_SECONDS = 10.0
"""client-go tries ten times, and waits before each as long as the server asks it to, which is a second."""
CLIENT_GO_CONNECT_SECONDS = 30.0
Object = dict[str, Any]


class Transport:
    """Sends requests to one server as one user and decodes the answers."""

    def __init__(self, access: Access) -> None:
        self.server = access.server
        self.identity = access.credentials.description
        self._credentials = access.credentials
        self._pool = urllib3.PoolManager(maxsize=64, retries=False, ssl_context=access.tls)
        if access.server_name:
            self._pool.connection_pool_kw.update(server_hostname=access.server_name, assert_hostname=access.server_name)
        self._patience = 0.0
        self._away = True
        self._connect_seconds = CONNECT_SECONDS
        self._stop = threading.Event()

    def patient(self, seconds: float, stop: threading.Event | None = None) -> Self:
        """The same client, which repeats a call for up to `seconds` while the server is away, starting or overloaded.

        A repeated call is one that cannot have been acted on, or that may be acted on twice: a POST is repeated only
        if it was not delivered. `stop` ends the waiting early.
        """
        view = copy.copy(self)
        view._patience = seconds
        view._stop = stop or threading.Event()
        return view

    def as_client_go(self, stop: threading.Event) -> Self:
        """The same client with the patience of client-go's rest.Request (rest/with_retry.go, rest/request.go).

        It waits for a server that is overloaded, and for one that is frozen, since its one connection stands; one that
        is away fails the call at once, except that a GET whose connection broke is sent again.
        """
        view = self.patient(CLIENT_GO_SECONDS, stop)
        view._away = False
        view._connect_seconds = CLIENT_GO_CONNECT_SECONDS
        return view

    def close(self) -> None:
        """Closes idle connections; the client may still be used."""
        self._pool.clear()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        timeout: float | None = None,
        **query: Any,
    ) -> Object:
        """One request; `query` takes the API's parameter names, None leaves one out. `timeout` in seconds to read.

        Raises ApiError (the server refused), Unreachable (no answer).
        """
        deadline, pause = time.monotonic() + self._patience, 0.1
        while True:
            try:
                return self._decode(self._authenticated(method, path, body, content_type, timeout, query))
            except (ApiError, Unreachable) as error:
                if time.monotonic() + pause > deadline or not self._may_pass(method, error):
                    raise
            if self._stop.wait(pause):
                raise Unreachable(f"cancelled while waiting for {self.server}")
            pause = min(2.0, pause * 1.6)

    def _may_pass(self, method: str, error: ApiError | Unreachable) -> bool:
        """Whether the same call may succeed later (what client-go repeats, and a server that is still starting)."""
        if isinstance(error, Unreachable):
            return (method != "POST" or not error.delivered) if self._away else method == "GET" and error.delivered
        if isinstance(error, CredentialsFailed):
            return False
        if error.code in (401, 403):
            return self._away and not self.ready()
        return error.code in (429, 502, 503, 504) or (error.code == 500 and error.reason == "ServerTimeout")

    def ready(self) -> bool:
        """Whether the server says it is ready to serve: one that just started refuses what it will soon allow.

        Asked without a token, which is open to everybody (system:public-info-viewer); a server that lets nobody in
        unknown (401) counts as ready.
        """
        try:
            return self._send("GET", "/readyz", None, "", 5.0, {}, token=None, stream=False).status in (200, 401)
        except Unreachable:
            return False

    def _authenticated(
        self, method: str, path: str, body: object, content_type: str, timeout: float | None, query: Mapping[str, Any]
    ) -> urllib3.BaseHTTPResponse:
        token = self._credentials.token()
        response = self._send(method, path, body, content_type, timeout, query, token, stream=False)
        if response.status == 401 and self._credentials.refused(token):
            response = self._send(
                method, path, body, content_type, timeout, query, self._credentials.token(), stream=False
            )
        return response

    def _send(
        self,
        method: str,
        path: str,
        body: object,
        content_type: str,
        timeout: float | None,
        query: Mapping[str, Any],
        token: str | None,
        stream: bool,
    ) -> urllib3.BaseHTTPResponse:
        parameters = {key: _plain(value) for key, value in query.items() if value is not None}
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            return self._pool.request(
                method,
                self.server + path + ("?" + urlencode(parameters) if parameters else ""),
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=urllib3.Timeout(connect=self._connect_seconds, read=timeout or READ_SECONDS),
                preload_content=not stream,
            )
        except urllib3.exceptions.HTTPError as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> Unreachable:
        early = (
            urllib3.exceptions.NewConnectionError,
            urllib3.exceptions.ConnectTimeoutError,
            urllib3.exceptions.SSLError,
        )
        reason = str(error).rpartition(": ")[2] or type(error).__name__
        return Unreachable(f"{self.server} does not answer: {reason}", delivered=not isinstance(error, early))

    def _decode(self, response: urllib3.BaseHTTPResponse) -> Object:
        try:
            body = json.loads(response.data)
        except ValueError:
            body = response.data.decode(errors="replace")
        if response.status == 401:
            raise ApiError(
                401,
                "Unauthorized",
                f"the server has asked for the client to provide credentials ({self.server} refused {self.identity})",
                body if isinstance(body, dict) else {},
            )
        if response.status >= 400:
            raise ApiError.from_status(response.status, body)
        if not isinstance(body, dict):
            raise ApiError(
                response.status, "", f"{self.server} answered something that is not an object: {body!r:.200}"
            )
        return body

    def stream(self, path: str, timeout: float, query: Mapping[str, Any]) -> Iterator[Object]:
        """The newline-separated JSON objects of a streamed answer, each as soon as it is whole."""
        token = self._credentials.token()
        response = self._send("GET", path, None, "", timeout, query, token, stream=True)
        try:
            if response.status >= 400:
                if response.status == 401:
                    self._credentials.refused(token)
                self._decode(response)
            yield from map(json.loads, _lines(response))
        except urllib3.exceptions.HTTPError as error:
            raise self._unreachable(error) from None
        finally:
            response.close()


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """The newline-separated documents of a stream, each as soon as it is whole."""
    rest = b""
    for chunk in response.stream(65536, decode_content=True):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
