"""What nginx does by its configuration as a proxy, or why it does nothing.

Played are `server`s with `listen`, `location` (exact, by expression and by prefix), `map`, `if ($variable = text)`,
`return`, `proxy_pass` to a port of the pod's own loopback, and `auth_request` to a location that asks a Service of the
cluster. A directive that nobody plays ends the process, so that no rule is passed over in silence. Sources:
nginx.org/en/docs, ngx_http_core_module (`location`: the path is compared after escapes are decoded and dots resolved;
expressions come before beginnings), ngx_http_map_module (strings regardless of case, expressions in their order),
ngx_http_proxy_module (`proxy_pass` with a path puts it where the location's was), ngx_http_auth_request_module (2xx
lets through, 401 and 403 are the answer, all else is 500), ngx_http_rewrite_module.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from rehearsal.cluster.pages import Answer, Request
from rehearsal.images.nginx_syntax import ConfigError, Directive, parse

HTML = "text/html"
_IDLE = frozenset(
    (
        *("worker_processes", "worker_shutdown_timeout", "error_log", "pid", "worker_connections", "access_log"),
        *("server_tokens", "client_max_body_size", "proxy_http_version", "proxy_buffering", "proxy_request_buffering"),
        *("proxy_read_timeout", "proxy_send_timeout", "client_body_temp_path", "proxy_temp_path", "fastcgi_temp_path"),
        *("uwsgi_temp_path", "scgi_temp_path", "user", "resolver", "set", "proxy_pass_request_headers"),
        "proxy_pass_request_body",
    )
)
"""Directives that change nothing of what a simulated answer is."""

_PLAYED = ("if", "return", "proxy_pass", "proxy_set_header", "auth_request", "error_page", "internal")
_PROXY = re.compile(r"http://127\.0\.0\.1:(\d+)(/.*)?")
_SERVICE = re.compile(r"http://\$(\w+)(:\d+/.*)")
"""Of the cluster, by a variable: found anew for each request (`proxy_pass`, with `resolver`)."""


@dataclass(frozen=True)
class Map:
    """A variable that follows from another one: what it is by default, and by text or expression."""

    source: str
    default: str
    rows: Sequence[tuple[str, str]]

    def of(self, value: str) -> str:
        """What a value is mapped to: an equal text comes before any expression."""
        for key, result in self.rows:
            if not key.startswith("~") and key.lower() == value.lower():
                return result
        for key, result in self.rows:
            if key.startswith("~") and _expression(key).search(value):
                return result
        return self.default


@dataclass(frozen=True)
class Rules:
    """A server's: ports, locations by their words, the maps of its variables, the type of what it says itself."""

    ports: tuple[int, ...]
    locations: Mapping[tuple[str, ...], Sequence[Directive]]
    maps: Mapping[str, Map] = field(default_factory=dict)
    content_type: str = "text/plain"

    def location(self, path: str) -> tuple[str, Sequence[Directive]] | None:
        """The location of a path and its own beginning: an equal one, else the first whose expression is found in it,
        else the longest that it begins with.

        Without an equal one, a path that a slash makes the location of a proxy is redirected to it.
        """
        if ("=", path) in self.locations:
            block = self.locations["=", path]
            return None if any(each.name == "internal" for each in block) else (path, block)
        if any(each.name == "proxy_pass" for each in self.locations.get((f"{path}/",), ())):
            return path, [Directive("return", ("301", f"{path}/"))]
        for words in self.locations:
            if words[0] == "~" and re.search(words[1], path):
                return path, self.locations[words]
        fitting = [words for words in self.locations if len(words) == 1 and path.startswith(words[0])]
        best = max(fitting, key=lambda words: len(words[0]), default=None)
        return (best[0], self.locations[best]) if best else None

    def variable(self, name: str, headers: Mapping[str, str]) -> str:
        """The value of `$name` for a request."""
        if name in self.maps:
            return self.maps[name].of(self.variable(self.maps[name].source, headers))
        return headers.get(name.removeprefix("http_").replace("_", "-"), "")


def read(files: Mapping[str, str], path: str) -> Rules:
    """The one server of a configuration. Pure. Raises ConfigError with nginx's words."""
    maps: dict[str, Map] = {}
    ports: list[int] = []
    locations: dict[tuple[str, ...], Sequence[Directive]] = {}
    content_type = "text/plain"
    for each in _flat(files, path):
        if each.name == "map":
            source, name = (word.lstrip("$") for word in each.words)
            rows = [(row.name, row.words[0]) for row in each.block]
            maps[name] = Map(source, dict(rows).get("default", ""), [row for row in rows if row[0] != "default"])
        elif each.name == "listen":
            ports.append(int(each.words[0].rpartition(":")[2]))
        elif each.name == "location":
            locations[tuple(each.words)] = each.block
        elif each.name == "default_type":
            content_type = each.words[0]
    return Rules(tuple(ports), locations, maps, content_type)


def _flat(files: Mapping[str, str], path: str) -> Iterator[Directive]:
    """Every directive outside locations and maps, included files in their places."""
    if path not in files:
        raise ConfigError(f'open() "{path}" failed (2: No such file or directory)')
    pending = list(parse(files[path], path))
    while pending:
        each = pending.pop(0)
        if each.name == "include":
            yield from _flat(files, each.words[0])
        elif each.name in ("events", "http", "server"):
            pending[:0] = each.block
        elif each.name in ("map", "listen", "location", "default_type"):
            _check(each)
            yield each
        elif each.name not in _IDLE:
            raise ConfigError(f'unknown directive "{each.name}" in {each.where}')


def _check(each: Directive) -> None:
    """What is inside a location must be played, too."""
    for inner in each.block if each.name == "location" else ():
        if inner.name not in (*_IDLE, *_PLAYED):
            raise ConfigError(f'unknown directive "{inner.name}" in {inner.where}')
        if inner.name == "proxy_pass" and not (_PROXY.fullmatch(inner.words[0]) or _SERVICE.fullmatch(inner.words[0])):
            raise ConfigError(f'host not found in upstream "{inner.words[0]}" in {inner.where}')


def answered(
    rules: Rules,
    request: Request,
    forward: Callable[[int, Request], Answer | None],
    judge: Callable[[str, str], int] = lambda *_: 502,
) -> Answer:
    """What a request gets. `forward(port, request)` is the answer from the pod's loopback, None if nobody is there;
    `judge(url, authorization)` the status that a Service of the cluster answers with.
    """
    path = resolved(request.path)
    if path is None:
        return _page(400, "Bad Request")
    found = rules.location(path)
    if found is None:
        return _page(404, "Not Found")
    beginning, block = found
    for each in block:
        if each.name == "if" and _holds(rules, each, request):
            return _returned(rules, each.block[0])
        if each.name == "return":
            return _returned(rules, each)
        if each.name == "auth_request" and (refusal := _refused(rules, each, block, request, judge)):
            return refusal
    (target,) = (each.words[0] for each in block if each.name == "proxy_pass")
    dropped = {each.words[0].lower() for each in block if each.name == "proxy_set_header" and not each.words[1]}
    port, instead = _split(target)
    onward = replace(
        request,
        path=instead + path[len(beginning) :] if instead else request.path,
        headers={name: value for name, value in request.headers.items() if name not in dropped},
    )
    return forward(port, onward) or _page(502, "Bad Gateway")


def resolved(path: str) -> str | None:
    """A path as locations see it: escapes decoded, dots and double slashes gone; None above the root. Pure."""
    steps: list[str] = []
    parts = unquote(path).split("/")
    for index, step in enumerate(parts):
        if step == "..":
            if not steps:
                return None
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
            continue
        if index == len(parts) - 1:
            steps.append("")
    return "/" + "/".join(steps)


def _holds(rules: Rules, each: Directive, request: Request) -> bool:
    variable, _, text = (word.strip("()") for word in each.words)
    return rules.variable(variable.lstrip("$"), request.headers) == text


def _refused(
    rules: Rules,
    each: Directive,
    block: Sequence[Directive],
    request: Request,
    judge: Callable[[str, str], int],
) -> Answer | None:
    """The answer of who is not let through, None for who is."""
    asked = rules.locations["=", each.words[0]]
    status = next((int(one.block[0].words[0]) for one in asked if one.name == "if" and _holds(rules, one, request)), 0)
    if not status:
        names = {one.words[0].lstrip("$"): one.words[1] for one in asked if one.name == "set"}
        (target,) = (found for one in asked if one.name == "proxy_pass" and (found := _SERVICE.fullmatch(one.words[0])))
        status = judge(f"http://{names[target[1]]}{target[2]}", request.headers.get("authorization", ""))
    if status in range(200, 300):
        return None
    pages = {one.words[0]: one.words[1] for one in block if one.name == "error_page"}
    if status in (401, 403):
        return _returned(rules, rules.locations[(pages[str(status)],)][0])
    return _page(500, "Internal Server Error")


def _returned(rules: Rules, each: Directive) -> Answer:
    return Answer(each.words[1] if len(each.words) > 1 else "", int(each.words[0]), rules.content_type)


def _split(target: str) -> tuple[int, str]:
    found = _PROXY.fullmatch(target)
    return (int(found[1]), found[2] or "") if found else (0, "")


def _expression(key: str) -> re.Pattern[str]:
    """A map's expression. PCRE's \\z is Python's \\Z."""
    flags = re.IGNORECASE if key.startswith("~*") else 0
    return re.compile(key.lstrip("~*").replace(r"\z", r"\Z"), flags)


def _page(status: int, words: str) -> Answer:
    title = f"{status} {words}"
    text = f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n"
    return Answer(f"{text}<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n", status, HTML)
