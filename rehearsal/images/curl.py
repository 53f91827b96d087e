"""curl's image: one HTTP request into the cluster's network, tried again as its command line says.

Source: curl's manual: `--fail-with-body` prints what a server says and ends with 22 where its status is 400 or above;
`--retry` tries again after the statuses 408, 429, 500, 502, 503 and 504, with `--retry-connrefused` where nobody
listens; `--variable %NAME` takes one from the environment, `--expand-header` puts it where {{NAME}} stands (8.3);
`--json` posts. A name or port that nothing answers is told in the words of the cluster's network, with curl's code 7.
"""

import http.client
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rehearsal.cluster.proxy import UNREACHED, admitting
from rehearsal.kubelet.images import unknown
from rehearsal.kubelet.program import TIME_SCALE, Deaf, Exit, Launch, Local, Program

TRANSIENT = (408, 429, 500, 502, 503, 504)
PATIENCE = 10.0
_VALUED = frozenset(
    f"--{name}"
    for name in (
        *("max-time", "connect-timeout", "retry", "retry-delay", "retry-max-time", "variable", "expand-header"),
        *("header", "json", "data", "request", "output", "write-out", "user-agent"),
    )
) | {"-H", "-d", "-X", "-o", "-w", "-A", "-m"}


@dataclass(frozen=True)
class Asked:
    """A request, and what curl makes of its answer."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    fails: bool = False
    retries: int = 0
    delay: float = 1.0
    retries_refused: bool = False


@dataclass(frozen=True)
class Answered:
    """Status 0: nothing answered, and `body` says why."""

    status: int
    body: str


def run(launch: Launch) -> Program:
    """Asks; any other command is one that nobody knows."""
    asked = parse(launch.argv, launch.env)
    return Asking(launch, asked) if asked else unknown(launch)


def parse(argv: Sequence[str], env: Mapping[str, str]) -> Asked | None:
    """The request in a command line of curl; None if it is another program's. Pure."""
    words = list(argv)
    if not words or words[0].rpartition("/")[2] != "curl":
        return None
    flags: set[str] = set()
    values: dict[str, list[str]] = {}
    urls: list[str] = []
    index = 1
    while index < len(words):
        word = words[index]
        if word in _VALUED:
            values.setdefault(word, []).append(words[index + 1] if index + 1 < len(words) else "")
            index += 1
        elif word.startswith("-"):
            flags.add(word)
        else:
            urls.append(word)
        index += 1
    if not urls:
        return None
    known = {name[1:]: env.get(name[1:], "") for name in values.get("--variable", ()) if name.startswith("%")}
    lines = [*values.get("--header", ()), *values.get("-H", ())]
    lines += [_expanded(each, known) for each in values.get("--expand-header", ())]
    body = next((values[name][-1] for name in ("--json", "--data", "-d") if name in values), None)
    if "--json" in values:
        lines += ["Content-Type: application/json", "Accept: application/json"]
    method = next((values[name][-1] for name in ("--request", "-X") if name in values), "POST" if body else "GET")
    return Asked(
        url=urls[-1],
        method=method,
        headers={name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)},
        body=body,
        fails=bool(flags & {"--fail", "-f", "--fail-with-body"}),
        retries=int(values.get("--retry", ["0"])[-1]),
        delay=float(values.get("--retry-delay", ["1"])[-1]),
        retries_refused="--retry-connrefused" in flags,
    )


def _expanded(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: known.get(found[1], ""), text)


def ended(asked: Asked, answered: Answered) -> tuple[str, int]:
    """What curl prints, and its exit code. Pure."""
    if answered.status == 0:
        return f"curl: (7) Failed to connect: {answered.body.strip()}", 7
    if answered.status >= 400 and asked.fails:
        return f"{answered.body}\ncurl: (22) The requested URL returned error: {answered.status}", 22
    return answered.body, 0


def again(asked: Asked, answered: Answered) -> bool:
    """Whether curl tries once more after such an answer, if it still may. Pure."""
    return answered.status in TRANSIENT or (answered.status == 0 and asked.retries_refused)


class Asking(Deaf, Local):
    """The process: asks on the side, and ends with the last answer."""

    def __init__(self, launch: Launch, asked: Asked) -> None:
        self._launch, self._asked = launch, asked
        self._left = asked.retries
        self._result: Exit | None = None
        self._task = f"curl {launch.namespace}/{launch.pod_name}/{launch.spec['name']} {launch.now}"
        launch.world.tasks.run(self._task, self._try)

    def _try(self) -> float | None:
        answered = ask(self._launch.world.proxy.url, self._asked)
        if self._left and again(self._asked, answered):
            self._left -= 1
            return self._asked.delay / TIME_SCALE
        said, code = ended(self._asked, answered)
        self._launch.log(said)
        self._result = Exit(code, said if code else "")
        self._launch.wake()
        return None

    def exited(self, now: float) -> Exit | None:  # noqa: ARG002
        return self._result

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)


def ask(proxy: str, asked: Asked) -> Answered:
    """The answer that comes through the cluster's network, or why none does."""
    way = urlsplit(proxy)
    connection = http.client.HTTPConnection(way.hostname or "", way.port, timeout=PATIENCE)
    try:
        connection.request(asked.method, asked.url, asked.body, {**asked.headers, **admitting(proxy)})
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
        return Answered(0 if answer.getheader(UNREACHED) else answer.status, body)
    except (OSError, http.client.HTTPException) as error:
        return Answered(0, str(error))
    finally:
        connection.close()
