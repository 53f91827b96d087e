"""What vLLM's server answers over HTTP: the models it has, a completion, and its words where it refuses.

Source: vLLM 0.29.0, vllm/entrypoints: serve/middleware/authenticate.py (paths below /v1, /v2, /inference and /cohere
need the key, and no other does: /invocations answers anybody), openai/models/serving.py (the words about a model that
is not there), openai/completion/protocol.py, serve/sagemaker/api_router.py (/ping, /invocations),
serve/instrumentator (/health, /version, /metrics). Paths that nobody serves are FastAPI's own 404.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rehearsal.cluster.pages import Answer, Request
from rehearsed.streams import Streams

JSON, EVENTS = "application/json", "text/event-stream; charset=utf-8"
GUARDED = ("/v1", "/v2", "/inference", "/cohere")
WORDS = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
DEFAULT_TOKENS = 16
"""Source: CompletionRequest.max_tokens."""


@dataclass(frozen=True)
class OpenAi:
    """A server of `models`, the first of which is the model itself and the others its adapters.

    `keys` are those of which a caller needs one; without any, everybody may ask. `metrics` is the page of that name.
    """

    models: Sequence[str]
    path: str
    max_model_len: int
    keys: Sequence[str] = ()
    version: str = ""
    metrics: Callable[[], str] = lambda: ""
    streams: Streams = field(default_factory=lambda: Streams(0, lambda: None))

    def answer(self, request: Request) -> Answer:
        """Answers one request."""
        if request.path.startswith(GUARDED) and not self._may(request.headers):
            return _json({"error": "Unauthorized"}, 401)
        known: Mapping[str, Mapping[str, Callable[[Request], Answer]]] = {
            "/health": {"GET": lambda _: Answer("")},
            "/ping": {"GET": lambda _: Answer(""), "POST": lambda _: Answer("")},
            "/version": {"GET": lambda _: _json({"version": self.version})},
            "/metrics": {"GET": lambda _: Answer(self.metrics())},
            "/v1/models": {"GET": lambda _: _json(self._models())},
            "/v1/completions": {"POST": self._completion},
            "/invocations": {"POST": self._completion},
        }
        by_method = known.get(request.path)
        if by_method is None:
            return _json({"detail": "Not Found"}, 404)
        serve = by_method.get(request.method)
        return serve(request) if serve else _json({"detail": "Method Not Allowed"}, 405)

    def _may(self, headers: Mapping[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return not self.keys or (scheme.lower() == "bearer" and given in self.keys)

    def _models(self) -> dict[str, Any]:
        base = self.models[0]
        cards = [
            {
                "id": name,
                "object": "model",
                "owned_by": "vllm",
                "root": self.path if name == base else name,
                "parent": None if name == base else base,
                "max_model_len": self.max_model_len if name == base else None,
            }
            for name in self.models
        ]
        return {"object": "list", "data": cards}

    def _completion(self, request: Request) -> Answer:
        try:
            asked = json.loads(request.body)
        except ValueError:
            return _error("Invalid JSON in the request body", "BadRequestError", 400)
        if not isinstance(asked, dict) or "prompt" not in asked:
            return _error("Field required: prompt", "BadRequestError", 400, "prompt")
        model = asked.get("model") or self.models[0]
        if model not in self.models:
            return _error(f"The model `{model}` does not exist.", "NotFoundError", 404, "model")
        prompt, wanted = len(str(asked["prompt"]).split()), int(asked.get("max_tokens") or DEFAULT_TOKENS)
        if prompt + wanted > self.max_model_len:
            text = f"This model's maximum context length is {self.max_model_len} tokens"
            return _error(f"{text}, and {prompt + wanted} were requested", "BadRequestError", 400)
        if self.streams.refuses:
            return _error("The server is shutting down", "ServiceUnavailableError", 503)
        if asked.get("stream"):
            return self._streamed(request, model, wanted)
        text = "".join(f" {WORDS[1 + index % 10]}" for index in range(wanted))
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": "length", "stop_reason": None}
        return _json(
            {
                "id": _id(request),
                "object": "text_completion",
                "model": model,
                "choices": [choice],
                "usage": {"prompt_tokens": prompt, "completion_tokens": wanted, "total_tokens": prompt + wanted},
            }
        )

    def _streamed(self, request: Request, model: str, wanted: int) -> Answer:
        """An event for each token, and one for the end (openai/completion/serving.py, completion_stream_generator)."""
        known = {"id": _id(request), "object": "text_completion", "model": model}
        texts = (f" {WORDS[1 + index % 10]}" for index in range(wanted))
        choices = [{"index": 0, "text": text, "finish_reason": None} for text in texts]
        choices[-1]["finish_reason"] = "length"
        events = [f"data: {json.dumps({**known, 'choices': [each]})}\n\n".encode() for each in choices]
        return Answer(events[0], 200, EVENTS, rest=self.streams.of([*events[1:], b"data: [DONE]\n\n"]))


def _id(request: Request) -> str:
    return f"cmpl-{hashlib.sha256(request.body).hexdigest()[:32]}"


def _error(message: str, kind: str, code: int, param: str | None = None) -> Answer:
    return _json({"error": {"message": message, "type": kind, "param": param, "code": code}}, code)


def _json(content: Mapping[str, Any], status: int = 200) -> Answer:
    return Answer(json.dumps(content), status, JSON)
