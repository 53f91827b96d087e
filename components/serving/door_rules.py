"""What a door's nginx is told: which paths it lets through, and to whom.

Directives: nginx.org/en/docs, ngx_core_module, ngx_http_core_module, ngx_http_map_module, ngx_http_proxy_module,
ngx_http_auth_request_module and ngx_http_rewrite_module.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from components.gateway.sign_in import NAME as ASKED
from components.gateway.sign_in import NAMESPACE as ASKED_IN
from components.gateway.sign_in import PORT as ASKED_AT
from components.serving.arguments import ENGINE_PORT, LOOPBACK, PORT, TRITON_METRICS_PORT
from components.serving.keys import ADMITTED

CONFIG = "/etc/door"
SCRATCH = "/tmp"  # noqa: S108 - the container's own, an emptyDir
METRICS = "/metrics"

LONGEST_BODY = "64m"
"""What a request may have: pictures stand in it as base64."""

READ_SECONDS = 3600
"""How long a server may be silent within an answer: a long prompt is read before the first token comes."""

NO_KEY, CLOSED = "There is no such key: send Authorization: Bearer KEY.", "This path is not open."
NO_GROUP = "The owner of this token is of no group that this service is open to."

NAMES = "kube-dns.kube-system.svc.cluster.local"
"""The cluster's name service, by the name that EKS and kubeadm give it. nginx finds it when it starts, and what it is
told there for as long as the answer says (ngx_http_core_module, `resolver`)."""
JUDGE = f"{ASKED}.{ASKED_IN}.svc.cluster.local"


@dataclass(frozen=True, kw_only=True)
class Behind:
    """What a door stands before: servers on the pod's loopback, at ENGINE_PORT and, for metrics, at `metrics_port`.

    `health` answers anybody. `at` are paths and `below` beginnings of paths, with a slash at the end, that are open to
    a key; `closed` are expressions of paths that are not open even so. `refused`, `forbidden` and `unknown` are the
    bodies of 401, 403 and 404, as clients of this server read errors.
    """

    health: Sequence[str]
    below: Sequence[str]
    refused: str
    unknown: str
    forbidden: str
    metrics_port: int = ENGINE_PORT
    at: Sequence[str] = ()
    closed: Sequence[str] = ()


def _openai(message: str, code: str) -> str:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}})


VLLM = Behind(
    health=["/health"],
    below=["/v1/"],
    refused=_openai(NO_KEY, "invalid_api_key"),
    forbidden=_openai(NO_GROUP, "permission_denied"),
    unknown=_openai(CLOSED, "not_found"),
)
TRITON = Behind(
    health=["/v2/health/live", "/v2/health/ready"],
    at=["/v2"],
    below=["/v2/models/"],
    closed=["/trace/setting$"],
    refused=json.dumps({"error": NO_KEY}),
    forbidden=json.dumps({"error": NO_GROUP}),
    unknown=json.dumps({"error": CLOSED}),
    metrics_port=TRITON_METRICS_PORT,
)
"""Inference and what models say of themselves. Below /v2/models Triton changes one thing, what it traces of a model;
/v2/repository, /v2/systemsharedmemory, /v2/cudasharedmemory, /v2/logging and /v2/trace change the server for all
(server, src/http_server.cc, HTTPAPIServer::Handle and its expressions). Its errors are texts (KServe v2, REST).
"""


def rules(behind: Behind, groups: Sequence[str] = ()) -> str:
    """nginx's configuration; with `groups`, their members' tokens are judged.

    Where a path matches, what goes on is the path that matched, not the one that was written: `proxy_pass` with a path
    replaces what nginx has compared, after it resolved dots and escapes. Of /v1 itself it would make a redirection.
    An expression comes before a beginning (ngx_http_core_module, `location`).
    """
    engine = f"http://{LOOPBACK}:{ENGINE_PORT}"
    probed = "\n".join(_location(f"= {each}", f"proxy_pass {engine}{each};") for each in behind.health)
    opened = "\n".join(
        [
            *(_asked(f"= {each}", behind, f"{engine}{each}", groups) for each in behind.at),
            *(_asked(each, behind, f"{engine}{each}", groups) for each in behind.below),
            *(_judged(behind, groups) if groups else ()),
        ]
    )
    shut = "\n".join(
        _location(each, f"return 404 '{behind.unknown}';")
        for each in (
            *(f"~ {each}" for each in behind.closed),
            *(f"= {each.rstrip('/')}" for each in behind.below),
            "/",
        )
    )
    temporary = "\n".join(
        f"  {kind}_temp_path {SCRATCH}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""\
worker_processes 2;
error_log stderr warn;
pid {SCRATCH}/nginx.pid;
events {{
  worker_connections 8192;
}}
http {{
  access_log off;
  server_tokens off;
  default_type application/json;
  client_max_body_size {LONGEST_BODY};
{temporary}
  include {CONFIG}/keys/{ADMITTED};{f"{chr(10)}  resolver {NAMES};" if groups else ""}
  server {{
    listen {PORT};
{probed}
    location = {METRICS} {{
      if ($scraper = no) {{
        return 401 '{behind.refused}';
      }}
      proxy_set_header Authorization "";
      proxy_pass http://{LOOPBACK}:{behind.metrics_port}{METRICS};
    }}
{opened}
{shut}
  }}
}}
"""


def _location(words: str, *lines: str) -> str:
    inside = "".join(f"      {line}\n" for line in lines)
    return f"    location {words} {{\n{inside}    }}"


def _judged(behind: Behind, groups: Sequence[str]) -> list[str]:
    """Whom the rest of the rules asks: who has a key may come in, and of others oauth2-proxy says whose token it is.

    It is told the token alone: a browser's cookie would be somebody else's word. It answers 202, 401 or 403
    (oauth2-proxy, oauthproxy.go, AuthOnly), and nothing but 2xx lets a request through.
    """
    query = urlencode({"allowed_groups": ",".join(groups)})
    return [
        _location(
            "= /.judge",
            "internal;",
            "if ($caller = yes) {",
            "  return 204;",
            "}",
            f"set $judge {JUDGE};",
            "proxy_pass_request_headers off;",
            "proxy_pass_request_body off;",
            "proxy_set_header Authorization $http_authorization;",
            'proxy_set_header Content-Length "";',
            f"proxy_pass http://$judge:{ASKED_AT}/oauth2/auth?{query};",
        ),
        _location("@refused", f"return 401 '{behind.refused}';"),
        _location("@forbidden", f"return 403 '{behind.forbidden}';"),
    ]


def _asked(words: str, behind: Behind, onward: str, groups: Sequence[str]) -> str:
    """A location that asks for a caller's key or token, and passes streams on as they come."""
    key = ["if ($caller = no) {", f"  return 401 '{behind.refused}';", "}"]
    token = ["auth_request /.judge;", "error_page 401 @refused;", "error_page 403 @forbidden;"]
    return _location(
        words,
        *(token if groups else key),
        'proxy_set_header Authorization "";',
        'proxy_set_header Connection "";',
        "proxy_http_version 1.1;",
        "proxy_buffering off;",
        "proxy_request_buffering off;",
        f"proxy_read_timeout {READ_SECONDS}s;",
        f"proxy_send_timeout {READ_SECONDS}s;",
        f"proxy_pass {onward};",
    )
