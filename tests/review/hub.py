"""GitHub as far as a comment and an issue need it: pull requests, comments and issues in memory."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from review.post import AUTHOR, GitHub

SHA = "0123456789abcdef0123456789abcdef01234567"
ENVIRONMENT = {
    "GITHUB_API_URL": "https://api.example.org",
    "GITHUB_REPOSITORY": "acme/cluster",
    "GITHUB_TOKEN": "a-token",
    "HEAD_SHA": SHA,
    "HEAD_BRANCH": "change",
    "HEAD_OWNER": "someone",
    "HEAD_REPOSITORY": "someone/cluster",
    "RUN_URL": "https://github.com/acme/cluster/actions/runs/7",
}


class Hub:
    """Answers as the REST API does (docs.github.com/rest: pulls, issues, issues/comments), page by page."""

    def __init__(self) -> None:
        self.pulls: list[dict[str, Any]] = [{"number": 5, "label": "someone:change", "head": {"sha": SHA}}]
        self.comments: list[dict[str, Any]] = []
        self.issues: list[dict[str, Any]] = []
        self.calls: list[str] = []

    def written(self, body: str, login: str = AUTHOR, **further: Any) -> dict[str, Any]:
        return {"id": 100 + len(self.comments), "user": {"login": login}, "body": body, "html_url": "url", **further}

    def ask(self, hub: GitHub, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        assert hub.token == ENVIRONMENT["GITHUB_TOKEN"]
        self.calls.append(f"{method} {path}")
        parts, query = urlsplit(path), parse_qs(urlsplit(path).query)
        match method, parts.path.split("/"):
            case "GET", ["pulls"]:
                return self._page([each for each in self.pulls if each["label"] == query["head"][0]], query)
            case "GET", ["issues", "5", "comments"]:
                return self._page(self.comments, query)
            case "POST", ["issues", "5", "comments"]:
                assert body is not None
                self.comments.append(self.written(body["body"]))
                return self.comments[-1]
            case "PATCH", ["issues", "comments", identity]:
                (found,) = (each for each in self.comments if str(each["id"]) == identity)
                return self._update(found, body)
            case "GET", ["issues"]:
                return self._page([each for each in self.issues if each["state"] == "open"], query)
            case "POST", ["issues"]:
                assert body is not None
                number = len(self.issues) + 1
                self.issues.append(self.written(body["body"], number=number, state="open", title=body["title"]))
                return self.issues[-1]
            case "PATCH", ["issues", number]:
                return self._update(self.issues[int(number) - 1], body)
        raise AssertionError(f"{method} {path} is not what a comment needs")

    def _page(self, entries: list[dict[str, Any]], query: Mapping[str, list[str]]) -> list[dict[str, Any]]:
        size, page = int(query["per_page"][0]), int(query["page"][0])
        return entries[size * (page - 1) : size * page]

    def _update(self, found: dict[str, Any], body: Mapping[str, Any] | None) -> dict[str, Any]:
        found.update(body or {})
        return found
