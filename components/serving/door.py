"""The door of a model server: an nginx beside it in the pod, which lets named paths through to those who have a key.

vLLM's own key guards the paths below /v1 alone: /invocations, /tokenize and others answer anybody (vLLM 0.29.0,
vllm/entrypoints/serve/middleware/authenticate.py). Triton asks for none. So either listens on the pod's loopback, and
what a caller reaches is this: what its `Behind` opens with a key, its health paths, /metrics with the scraper's key,
and nothing else. The rules hold no secret and stand in a ConfigMap; the keys come from a Secret as a file, so that
neither a command line nor an environment shows them.

Where a service is open to members of groups, who has no key is judged by the issuer's token that they bring: nginx
asks oauth2-proxy, which knows the issuer's keys. A request with a key asks nobody, and goes on where oauth2-proxy is
down.

Directives: nginx.org/en/docs, ngx_core_module, ngx_http_core_module, ngx_http_map_module, ngx_http_proxy_module,
ngx_http_auth_request_module and ngx_http_rewrite_module.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.gateway.sign_in import NAME as ASKED
from components.gateway.sign_in import NAMESPACE as ASKED_IN
from components.gateway.sign_in import PORT as ASKED_AT
from components.platform.confinement import confined
from components.platform.pods import PodShape
from components.serving.arguments import ENGINE_PORT, LOOPBACK, PORT, TRITON_METRICS_PORT
from components.serving.keys import ADMITTED, CallerKeys

CONFIG = "/etc/door"
RULES, SERVE = "nginx.conf", "serve.sh"
"""The rules; and what has nginx read its files again, where keys change in place."""
_SERVE = Path(__file__).parents[2] / "node" / "door" / SERVE
SCRATCH = "/tmp"  # noqa: S108 - the container's own, an emptyDir
METRICS = "/metrics"
USER = 101
"""Whom nginx's images know as nginx (nginx/docker-nginx, unprivileged/stable/debian/Dockerfile)."""

CPU_MILLICORES, MEMORY_MIB = 100, 128
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


@dataclass(frozen=True, kw_only=True)
class Door:
    """`image` is nginx's. `keys` are what callers and the scraper come in with. `behind` is the server it guards, which
    is open to members of `groups` by a token of their issuer's, too.
    """

    image: str
    keys: CallerKeys
    behind: Behind
    groups: Sequence[str] = ()


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


def beside(shape: PodShape) -> PodShape:
    """What is left of a pod's part of its node for the server itself."""
    return replace(
        shape,
        cpu_millicores=max(0, shape.cpu_millicores - CPU_MILLICORES),
        memory_mib=shape.memory_mib - MEMORY_MIB,
    )


def command(drain_seconds: int, *, follows: bool = False) -> list[str]:
    """nginx in the foreground, without the image's entry point, which writes to its own directories.

    After SIGQUIT it takes no more requests, and goes on with those it has for `drain_seconds`; so do workers that have
    read older files, where it `follows` the keys.
    """
    main = f"daemon off; worker_shutdown_timeout {drain_seconds}s;"
    server = ["nginx", "-e", "stderr", "-c", f"{CONFIG}/rules/{RULES}", "-g", main]
    return ["sh", f"{CONFIG}/rules/{SERVE}", f"{CONFIG}/keys/{ADMITTED}", *server] if follows else server


def rules_for(owner: Component, service: str, namespace: pulumi.Input[str], door: Door) -> k8s.core.v1.ConfigMap:
    """The ConfigMap of a service's rules, named by what it holds: other rules are other pods."""
    files = {RULES: rules(door.behind, door.groups)}
    if door.keys.follows:
        files[SERVE] = _SERVE.read_text(encoding="utf-8")
    digest = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:8]
    return k8s.core.v1.ConfigMap(
        owner.named("door-rules"),
        k8s.core.v1.ConfigMapInitArgs(
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=physical_name(service, "door", digest, limit=63), namespace=namespace
            ),
            immutable=True,
            data=files,
        ),
        owner.child(),
    )


def container(door: Door, leave_seconds: int, drain_seconds: int) -> k8s.core.v1.ContainerArgs:
    """The side-car. A kubelet stops it by SIGQUIT, the image's stop signal, when all have heard that the pod leaves."""
    core = k8s.core.v1
    amounts = {"cpu": f"{CPU_MILLICORES}m", "memory": f"{MEMORY_MIB}Mi"}
    leave = core.LifecycleHandlerArgs(sleep=core.SleepActionArgs(seconds=leave_seconds))
    return core.ContainerArgs(
        name="door",
        image=door.image,
        command=command(drain_seconds, follows=door.keys.follows),
        termination_message_policy="FallbackToLogsOnError",
        ports=[core.ContainerPortArgs(name="http", container_port=PORT)],
        lifecycle=core.LifecycleArgs(pre_stop=leave),
        liveness_probe=core.ProbeArgs(
            tcp_socket=core.TCPSocketActionArgs(port="http"), period_seconds=30, failure_threshold=3, timeout_seconds=5
        ),
        resources=core.ResourceRequirementsArgs(limits=amounts, requests=amounts),
        security_context=confined(user=USER, writes=False),
        volume_mounts=[
            core.VolumeMountArgs(name="door-rules", mount_path=f"{CONFIG}/rules", read_only=True),
            core.VolumeMountArgs(name="door-keys", mount_path=f"{CONFIG}/keys", read_only=True),
            core.VolumeMountArgs(name="door-scratch", mount_path=SCRATCH),
        ],
    )


def volumes(door: Door, rules: k8s.core.v1.ConfigMap) -> list[k8s.core.v1.VolumeArgs]:
    """Of the Secret the door sees the file of admitted keys only."""
    core = k8s.core.v1
    admitted = core.SecretVolumeSourceArgs(
        secret_name=door.keys.name, items=[core.KeyToPathArgs(key=ADMITTED, path=ADMITTED)]
    )
    return [
        core.VolumeArgs(
            name="door-rules", config_map=core.ConfigMapVolumeSourceArgs(name=rules.metadata.name.apply(str))
        ),
        core.VolumeArgs(name="door-keys", secret=admitted),
        core.VolumeArgs(name="door-scratch", empty_dir=core.EmptyDirVolumeSourceArgs(size_limit="1Gi")),
    ]
