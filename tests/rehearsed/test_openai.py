"""What a rehearsed vLLM answers: its models, a completion, and vLLM's own words where it refuses (Q10, IN03, IN11)."""

import json
from typing import Any

import pytest

from rehearsal.cluster.pages import Request
from rehearsed.openai import OpenAi

KEY = {"authorization": "Bearer right"}
SERVER = OpenAi(["chat", "sql"], "/models/chat-1", 4096, ["right"], version="0.29.0", metrics=lambda: "up 1\n")


def ask(method: str, path: str, headers: dict[str, str] | None = None, body: Any = None) -> tuple[int, Any]:
    content = json.dumps(body).encode() if body is not None else b""
    answer = SERVER.answer(Request(method, path, headers=headers or {}, body=content))
    text = answer.content if isinstance(answer.content, str) else answer.content.decode()
    return answer.status, json.loads(text) if answer.content_type == "application/json" else text


def completion(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "prompt": "One, two,", "max_tokens": 3, **more}


def test_models_are_the_served_names_and_the_adapters() -> None:
    status, told = ask("GET", "/v1/models", KEY)
    assert status == 200
    assert [(each["id"], each["parent"]) for each in told["data"]] == [("chat", None), ("sql", "chat")]


@pytest.mark.parametrize("model", ["chat", "sql"])
def test_a_completion_has_the_tokens_that_were_asked_for(model: str) -> None:
    status, told = ask("POST", "/v1/completions", KEY, completion(model))
    assert (status, told["model"], told["choices"][0]["text"]) == (200, model, " one two three")
    assert told["usage"] == {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic right"}])
def test_without_the_key_v1_says_unauthorized_in11(headers: dict[str, str]) -> None:
    assert ask("GET", "/v1/models", headers) == (401, {"error": "Unauthorized"})
    assert ask("GET", "/v1/nothing", headers)[0] == 401


def test_other_paths_answer_without_a_key() -> None:
    assert ask("GET", "/health") == (200, "")
    assert ask("GET", "/ping") == (200, "")
    assert ask("GET", "/version") == (200, {"version": "0.29.0"})
    assert ask("GET", "/metrics") == (200, "up 1\n")
    assert ask("POST", "/invocations", {}, completion("chat"))[0] == 200


def test_a_model_that_is_not_there_is_named_in03() -> None:
    status, told = ask("POST", "/v1/completions", KEY, completion("/models/chat-1"))
    assert status == 404
    assert told["error"] == {
        "message": "The model `/models/chat-1` does not exist.",
        "type": "NotFoundError",
        "param": "model",
        "code": 404,
    }


def test_what_cannot_be_answered_is_refused() -> None:
    assert ask("POST", "/v1/completions", KEY, completion("chat", max_tokens=4096))[0] == 400
    assert ask("POST", "/v1/completions", KEY, {"model": "chat"})[0] == 400
    assert ask("GET", "/v1/completions", KEY)[0] == 405
    assert ask("GET", "/nothing") == (404, {"detail": "Not Found"})
