"""What people type at kubectl and a kubelet would answer (B7): answered, or refused in a sentence."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.command import asked
from rehearsal.command.errors import CommandError

WEB = {
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "12345678-aaaa"},
    "spec": {"containers": [{"name": "app", "image": "team/app:1"}, {"name": "side", "image": "team/side:1"}]},
    "status": {"containerStatuses": [{"name": "app", "state": {"running": {}}}, {"name": "side"}]},
}
STUCK = {
    **WEB,
    "metadata": {"name": "web-2", "namespace": "shop", "uid": "87654321-aaaa"},
    "status": {"containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]},
}
DEPLOYMENT = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}


class Cluster:
    """Two pods of a Deployment; `measured` if metrics-server answers."""

    def __init__(self, *, measured: bool = False) -> None:
        status = {"conditions": [{"type": "Available", "status": "True" if measured else "False"}]}
        self._objects: dict[str, Any] = {
            "Pod web-1": WEB,
            "Pod web-2": STUCK,
            "Deployment web": DEPLOYMENT,
            "APIService v1beta1.metrics.k8s.io": {"status": status},
        }

    def get(self, _version: str, kind: str, name: str, _namespace: str | None = None) -> Any:
        return self._objects.get(f"{kind} {name}")

    def list(self, _version: str, _kind: str, _namespace: str, selector: str) -> list[Any]:
        return [WEB, STUCK] if selector == "app=web" else []


def told(words: str, effects: Path) -> list[tuple[bool, str]]:
    return list(asked.logs(words.split(), Cluster(), effects))  # type: ignore[arg-type]


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    """The app was started twice and printed both times."""
    for run, lines in (("0", "old"), ("1", "one\ntwo\nthree"), ("10", "last")):
        directory = tmp_path / "pods" / "shop_web-1_12345678" / "app" / run
        directory.mkdir(parents=True)
        (directory / "log").write_text(f"{lines}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("logs -n shop web-1", [(True, "last")]),
        ("-n shop logs pod/web-1 -c app", [(True, "last")]),
        ("logs web-1 -n shop --previous --tail 2", [(True, "two"), (True, "three")]),
        (
            "logs deploy/web -n shop",
            [(True, "last"), (False, "container app of pod web-2 is waiting to start: ImagePullBackOff")],
        ),
        (
            "logs web-1 side -n shop",
            [
                (
                    False,
                    "container side of pod web-1 has no output: no process runs in it, its image team/side:1 is "
                    "simulated",
                )
            ],
        ),
    ],
)
def test_logs_are_what_the_simulation_knows_or_one_sentence(words: str, said: Any, effects: Path) -> None:
    assert told(words, effects) == said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("logs nosuch -n shop", "there is no pod nosuch in namespace shop"),
        ("logs web-1 -c nosuch -n shop", "pod web-1 has no container nosuch; it has app, side"),
        ("logs -l app=other -n shop", "no pods of app=other"),
        ("logs service/web -n shop", "logs of service are not supported here"),
    ],
)
def test_logs_of_what_is_not_there(words: str, why: str, effects: Path) -> None:
    with pytest.raises(CommandError, match=why):
        told(words, effects)


def test_logs_are_not_followed_and_say_so(effects: Path) -> None:
    assert told("logs -f web-1 -n shop", effects)[0] == (
        False,
        "logs are not followed in a rehearsal: this is the output so far",
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("exec -it web-1 -- sh", "has no container to enter"),
        ("-n shop exec web-1 -- nvidia-smi", "has no container to enter"),
        ("cp web-1:/a b", "has no container to copy from"),
        ("port-forward svc/web 8000", "curl -K /s/proxy.curl http://SERVICE.NAMESPACE:PORT/"),
        ("top nodes", "the stack does not install metrics-server"),
    ],
)
def test_what_cannot_be_done_is_refused_with_another_way(words: str, why: str) -> None:
    said = asked.refusal(words.split(), Cluster(), Path("/s/proxy.curl"))  # type: ignore[arg-type]
    assert said is not None
    assert why in said


@pytest.mark.parametrize("words", ["get pods -A", "describe pod logs", "logs --help", "exec -h"])
def test_everything_else_is_kubectls_own(words: str) -> None:
    assert asked.verb(words.split()) not in {"logs", *asked.ENTERING}
    assert asked.refusal(words.split(), Cluster(), None) is None  # type: ignore[arg-type]


def test_top_is_answered_where_something_measures() -> None:
    assert asked.refusal(["top", "pods"], Cluster(measured=True), None) is None  # type: ignore[arg-type]
