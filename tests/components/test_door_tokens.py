"""A door that is open to groups: what it makes of the answers of who judges tokens (K12).

The same questions are asked of the real nginx and of the one of rehearsals; the real judge is in
tests/rehearsed/test_model_tokens.py.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.serving.door import RULES
from components.serving.door_rules import CONFIG, TRITON, VLLM, Behind, rules
from components.serving.keys import ADMITTED, admitted
from rehearsal.cluster.pages import Answer, Request
from rehearsal.images import nginx_rules
from rehearsal.testing.answering import Asked, Said, answering
from tests.components import real_nginx
from tests.components.real_nginx import Ask

KEY, GROUPS = "a-key", ["ml", "of people"]
JUDGED = {"Bearer good": 202, "Bearer other": 403, "Bearer lost": 404, "Bearer away": 503}


class Judge:
    """Answers by the token, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    def answer(self, asked: Asked) -> Said:
        told = {name.lower(): value for name, value in asked.headers.items()}
        self.asked.append((asked.method, asked.path, told))
        return Said(status=JUDGED.get(told.get("authorization", ""), 401))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Judge, int]]:
    if real_nginx.NGINX is None:
        pytest.skip(real_nginx.WHY)
    judge = Judge()
    directory = tmp_path_factory.mktemp("door") / "etc"
    with (
        answering(judge.answer) as where,
        real_nginx.running(directory, [KEY], groups=GROUPS, judge=int(where.partition(":")[2])) as (_, port),
    ):
        yield judge, port


@pytest.fixture
def ask(request: pytest.FixtureRequest) -> Ask:
    if request.param == "real":
        _, port = request.getfixturevalue("real")
        return lambda *words: real_nginx.asked(port, *words)
    read = simulated(VLLM)

    def asked(path: str, token: str | None = None, method: str = "GET") -> tuple[int, str, str]:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        judge = lambda _, said: JUDGED.get(said, 401)  # noqa: E731 - as short as what it stands for
        answer = nginx_rules.answered(read, Request(method, path, headers=headers), lambda *_: Answer(path), judge)
        return answer.status, answer.content_type, str(answer.content)

    return asked


def simulated(behind: Behind, groups: list[str] | None = None) -> nginx_rules.Rules:
    known = GROUPS if groups is None else groups
    files = {f"{CONFIG}/rules/{RULES}": rules(behind, known), f"{CONFIG}/keys/{ADMITTED}": admitted([KEY])}
    return nginx_rules.read(files, f"{CONFIG}/rules/{RULES}")


both = pytest.mark.parametrize("ask", ["real", "rehearsed"], indirect=True)


@both
@pytest.mark.parametrize(
    ("token", "status", "code"),
    [
        (KEY, 200, None),
        ("good", 200, None),
        ("other", 403, "permission_denied"),
        ("none", 401, "invalid_api_key"),
        (None, 401, "invalid_api_key"),
        ("lost", 500, None),
        ("away", 500, None),
    ],
)
def test_only_a_good_word_lets_a_request_through(ask: Ask, token: str | None, status: int, code: str | None) -> None:
    found, kind, body = ask("/v1/completions", token, "POST")
    assert found == status
    if code:
        assert (kind, json.loads(body)["error"]["code"]) == ("application/json", code)


@both
def test_the_question_is_not_reached_from_outside(ask: Ask) -> None:
    for path in ("/.judge", "/v1/../.judge", "/health/../.judge"):
        assert ask(path, "good")[0] == 404


def test_who_judges_is_told_the_token_and_the_groups_and_nothing_else(real: tuple[Judge, int]) -> None:
    """For a key nobody is asked. Neither what is asked of the model nor a cookie goes there."""
    judge, port = real
    judge.asked.clear()
    real_nginx.asked(port, "/v1/models", KEY)
    assert judge.asked == []
    real_nginx.asked(port, "/v1/models?x=1", "good")
    ((method, path, told),) = judge.asked
    assert (method, path) == ("GET", "/oauth2/auth?allowed_groups=ml%2Cof+people")
    assert told.keys() <= {"authorization", "host", "connection"}
    assert told["authorization"] == "Bearer good"


@pytest.mark.parametrize("behind", [VLLM, TRITON])
def test_without_groups_nobody_is_asked(behind: Behind) -> None:
    text = rules(behind)
    assert "auth_request" not in text
    assert "resolver" not in text


def test_a_rehearsed_nginx_finds_who_judges_by_name() -> None:
    asked: list[Any] = []

    def judge(url: str, authorization: str) -> int:
        asked.append((url, authorization))
        return 202

    request = Request("GET", "/v1/models", headers={"authorization": "Bearer t"})
    nginx_rules.answered(simulated(VLLM, ["ml"]), request, lambda *_: Answer(""), judge)
    at = "http://oauth2-proxy.people.svc.cluster.local:4180/oauth2/auth?allowed_groups=ml"
    assert asked == [(at, "Bearer t")]
