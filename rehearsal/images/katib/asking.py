"""How Katib's parts ask each other: a request to a Service through the cluster's network, answered by a pod behind it.

Katib has gRPC (pkg/apis/manager/v1beta1/api.proto); here the messages are JSON, and the paths the methods' names.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.cluster.pages import Answer, Handler, Request
from rehearsal.images.curl import Asked, ask

Method = Callable[[dict[str, Any]], dict[str, Any]]


class RefusedError(Exception):
    """An answer that says no (InvalidArgument), or none at all (Unavailable), and why."""

    def __init__(self, why: str, *, unavailable: bool) -> None:
        super().__init__(why)
        self.unavailable = unavailable


def call(proxy: str, address: str, method: str, message: Mapping[str, Any]) -> dict[str, Any]:
    """What `address` (host:port) answers. Raises RefusedError."""
    headers = {"Content-Type": "application/json"}
    found = ask(proxy, Asked(f"http://{address}/{method}", "POST", headers, json.dumps(message)))
    if found.status == 200:
        answer: dict[str, Any] = json.loads(found.body)
        return answer
    raise RefusedError(found.body.strip(), unavailable=found.status != 400)


def methods(known: Mapping[str, Method]) -> Handler:
    """A handler of methods by name. A ValueError is an argument that is refused."""

    def answer(request: Request) -> Answer:
        method = known.get(request.path.strip("/"))
        if method is None:
            return Answer("unknown method", 404, "text/plain")
        try:
            return Answer(json.dumps(method(json.loads(request.body or b"{}"))), 200, "application/json")
        except ValueError as error:
            return Answer(str(error), 400, "text/plain")
        except RefusedError as error:
            return Answer(str(error), 503, "text/plain")

    return answer
