"""Grafana, as far as a cluster sees it: its port, its health, and that it asks everybody else to sign in.

Sources: Grafana 13, conf/defaults.ini (`http_port`, GF_SERVER_HTTP_PORT), pkg/api/http_server.go (`/api/health`, and
its `/healthz`). Dashboards are not drawn here.
"""

import json

from rehearsal.cluster.pages import Answer, Request
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.images import repository
from rehearsal.kubelet.program import Launch, Program

PORT = "3000"


def run(launch: Launch) -> Program:
    """Answers on its port from the start: its database is a file."""
    image = str(launch.spec["image"])
    version = image.removeprefix(repository(image)).lstrip(":").partition("@")[0]
    health = json.dumps({"database": "ok", "version": version})

    def answer(request: Request) -> Answer:
        if request.path == "/api/health":
            return Answer(health, content_type="application/json; charset=UTF-8")
        if request.path == "/healthz":
            return Answer("Ok", content_type="text/plain; charset=utf-8")
        if request.path.startswith("/api/"):
            return Answer('{"message":"Unauthorized"}', 401, "application/json; charset=UTF-8")
        return Answer("", 302, "text/html; charset=utf-8", {"Location": "/login"})

    return Answering(launch, {int(launch.env.get("GF_SERVER_HTTP_PORT") or PORT): answer})
