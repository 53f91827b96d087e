"""`python -m review.post comment DIR`: the comment of an untrusted run, posted by a run that has rights.

The text in DIR/comment.md comes from the pull request, so nothing of it is run, and its shape is looked at before it
goes anywhere. Which pull request it belongs to is not taken from the text either: it is the open one whose head is the
commit that was previewed. `python -m review.post failed DIR` says in that comment that the newest commit has no
preview, and reads nothing of DIR. `python -m review.post drift DIR` keeps one issue for each stack of DIR/drift-STACK/.
Standard library only, so that a job with rights installs nothing.

Reads GITHUB_TOKEN, GITHUB_API_URL, GITHUB_REPOSITORY, RUN_URL, and for a comment HEAD_SHA, HEAD_BRANCH, HEAD_OWNER and
HEAD_REPOSITORY. Exit status: 0 posted, or nothing to post to any more; 1 refused.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARKER = "<!-- gpucluster-review -->"
"""By this line the comment finds itself again."""
FAILED = "- **There is no preview of "
"""How the line begins that stands above a comment of an earlier commit."""
DRIFT = "<!-- gpucluster-drift {stack} -->"
STACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
LIMIT = 65_536
"""Characters of a comment (GitHub, issue_comment: "body is too long (maximum is 65536 characters)")."""
LARGEST = 4 * LIMIT
"""Bytes of a file worth reading: a character has at most four."""
AUTHOR = "github-actions[bot]"
"""Who writes with a workflow's token: another's comment is never edited, whatever it says."""
TAGS = frozenset({"details", "summary"})
PER_PAGE, PAGES = 100, 30


class RefusedError(Exception):
    """A text that is not posted, or an answer that helps no further."""


def shape(text: str, marker: str = MARKER) -> list[str]:
    """What is wrong with a text as a comment; empty if it may be posted."""
    problems = []
    if not text.startswith(f"{marker}\n"):
        problems.append("its first line is not the marker")
    if text.count("<!--") != 1:
        problems.append("it hides more than the marker")
    if len(text) > LIMIT:
        problems.append(f"it has {len(text):,} characters, and GitHub takes {LIMIT:,}")
    if re.search(r"[^\S\n ]|[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text):
        problems.append("it has control characters")
    prose = _prose(text.removeprefix(marker))
    found = {tag.lower() for tag in re.findall(r"<\s*/?\s*([A-Za-z][\w-]*)", prose)} - TAGS
    problems += [f"it has the tag <{tag}>" for tag in sorted(found)]
    if re.search(r"!\[", prose.replace("\\!", "").replace("\\[", "")):
        problems.append("it has a picture")
    if re.search(r"(?<![\w`])@[A-Za-z0-9]", prose):
        problems.append("it mentions somebody")
    if links := [link for link in re.findall(r"\]\(([^)\s]*)", prose) if not _ours(link)]:
        problems.append(f"it links to {links[0][:80]}")
    return problems


def _prose(text: str) -> str:
    """The text without code, in which nothing is a tag, a picture, a link or a mention."""
    kept, fence = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fence = not fence
        elif not fence:
            kept.append(re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", line))
    return "\n".join(kept)


def _ours(link: str) -> bool:
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    return link.startswith(f"{server}/{os.environ.get('GITHUB_REPOSITORY', '')}/")


def text_in(file: Path, marker: str = MARKER) -> str:
    """The comment that an artifact's file holds. Raises RefusedError with everything that is wrong with it."""
    if file.is_symlink() or not file.is_file():
        raise RefusedError(f"{file}: the artifact holds no comment")
    if file.stat().st_size > LARGEST:
        raise RefusedError(f"{file}: {file.stat().st_size:,} bytes are no comment")
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(f"{file}: it is not UTF-8") from None
    if problems := shape(text, marker):
        raise RefusedError(f"{file}: {'; '.join(problems)}")
    return text


@dataclass(frozen=True, kw_only=True)
class GitHub:
    """As much of GitHub's REST API as a comment needs."""

    url: str
    repository: str
    token: str

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """An answer as JSON. Raises RefusedError with GitHub's message."""
        request = urllib.request.Request(  # noqa: S310 - the address is the runner's own
            f"{self.url}/repos/{self.repository}/{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RefusedError(f"GitHub answers {error.code} to {method} {path}: {error.reason}") from None
        except OSError as error:
            raise RefusedError(f"GitHub does not answer at {self.url}: {error}") from None

    def all(self, path: str) -> Iterator[Mapping[str, Any]]:
        """The entries of every page of a list."""
        joint = "&" if "?" in path else "?"
        for page in range(1, PAGES + 1):
            entries = self.ask("GET", f"{path}{joint}per_page={PER_PAGE}&page={page}")
            yield from entries
            if len(entries) < PER_PAGE:
                return

    def pulls(self, owner: str, branch: str, sha: str) -> list[int]:
        """The open pull requests whose head is this commit of this branch."""
        head = urllib.parse.quote(f"{owner}:{branch}", safe="")
        return [each["number"] for each in self.all(f"pulls?state=open&head={head}") if each["head"]["sha"] == sha]

    def found(self, number: int) -> Mapping[str, Any] | None:
        """The one comment of a pull request; None where there is none yet."""
        return next((each for each in self.all(f"issues/{number}/comments") if _own(each, MARKER)), None)

    def comment(self, number: int, text: str) -> str:
        """Write the one comment of a pull request, in place if it is there. Returns its address."""
        if (found := self.found(number)) is not None:
            return str(self.ask("PATCH", f"issues/comments/{found['id']}", {"body": text})["html_url"])
        return str(self.ask("POST", f"issues/{number}/comments", {"body": text})["html_url"])

    def issue(self, stack: str, text: str) -> str:
        """Keep the one issue about a stack's drift: made, edited in place, and closed when there is none."""
        marker = DRIFT.format(stack=stack)
        found = next((each for each in self.all("issues?state=open") if _own(each, marker)), None)
        if found and not text:
            gone = {"state": "closed", "state_reason": "completed"}
            return f"{self.ask('PATCH', 'issues/' + str(found['number']), gone)['html_url']} closed"
        if not text:
            return f"{stack} has not drifted"
        if found:
            return str(self.ask("PATCH", f"issues/{found['number']}", {"body": text})["html_url"])
        return str(self.ask("POST", "issues", {"title": f"{stack} has drifted", "body": text})["html_url"])


def _own(entry: Mapping[str, Any], marker: str) -> bool:
    """Whether a comment or issue is ours: by who wrote it as much as by what it says."""
    return entry["user"]["login"] == AUTHOR and (entry["body"] or "").startswith(f"{marker}\n")


def signed(text: str, environment: Mapping[str, str]) -> str:
    """The text with a last line that says whose it is: a fork's code can say anything about itself."""
    sha, run = environment["HEAD_SHA"][:10], environment["RUN_URL"]
    theirs = environment["HEAD_REPOSITORY"] != environment["GITHUB_REPOSITORY"]
    trust = f", by the code of `{environment['HEAD_REPOSITORY']}`: what it says is that fork's claim" if theirs else ""
    return f"{text.rstrip()}\n\n---\nMade of `{sha}` by [this run]({run}){trust}.\n"


def comment(hub: GitHub, folder: Path, environment: Mapping[str, str]) -> None:
    """Post a pull request's comment. Raises RefusedError."""
    text = _fitting(signed(text_in(folder / "comment.md"), environment))
    for number in _numbers(hub, environment):
        print(hub.comment(number, text))


def failed(hub: GitHub, _: Path, environment: Mapping[str, str]) -> None:
    """Say in a pull request's comment that its newest commit has no preview: numbers of an earlier one would be taken
    for its own. Raises RefusedError.
    """
    line = f"{FAILED}`{environment['HEAD_SHA'][:10]}`**: [its run]({environment['RUN_URL']}) failed."
    for number in _numbers(hub, environment):
        found = hub.found(number)
        below = found["body"].removeprefix(f"{MARKER}\n") if found else ""
        if below.startswith(FAILED):
            below = below.partition("\n")[2].lstrip("\n")
        whole = f"{MARKER}\n{line} What stands below is of an earlier commit.\n\n{below}"
        print(hub.comment(number, whole if below and len(whole) <= LIMIT else f"{MARKER}\n{line}\n"))


def _numbers(hub: GitHub, environment: Mapping[str, str]) -> list[int]:
    """The pull requests that a run belongs to; where there is none any more, that is said."""
    numbers = hub.pulls(environment["HEAD_OWNER"], environment["HEAD_BRANCH"], environment["HEAD_SHA"])
    if not numbers:
        print("no open pull request has this commit as its head any more: nothing is posted")
    return numbers


def drift(hub: GitHub, folder: Path, environment: Mapping[str, str]) -> None:
    """Keep the issue of each stack that was looked at. Raises RefusedError."""
    for below in sorted(folder.glob("drift-*")):
        stack = below.name.removeprefix("drift-")
        file = below / f"{stack}.md"
        if not STACK.fullmatch(stack) or not file.is_file():
            raise RefusedError(f"{below}: holds no {stack}.md")
        text = text_in(file, DRIFT.format(stack=stack)) if file.stat().st_size else ""
        last = f"\n\n---\nSeen by [this run]({environment['RUN_URL']}).\n"
        print(hub.issue(stack, _fitting(f"{text.rstrip()}{last}") if text else ""))


def _fitting(text: str) -> str:
    if len(text) > LIMIT:
        raise RefusedError(f"with its last line it has {len(text):,} characters, and GitHub takes {LIMIT:,}")
    return text


WHAT = {"comment": comment, "failed": failed, "drift": drift}


def main(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """Post what a directory holds."""
    if len(arguments) != 2 or arguments[0] not in WHAT:
        print(f"usage: python -m review.post {'|'.join(WHAT)} DIR", file=sys.stderr)
        return 2
    try:
        hub = GitHub(
            url=environment["GITHUB_API_URL"],
            repository=environment["GITHUB_REPOSITORY"],
            token=environment["GITHUB_TOKEN"],
        )
        WHAT[arguments[0]](hub, Path(arguments[1]), environment)
    except RefusedError as error:
        print(f"::error::not posted: {error}")
        return 1
    except KeyError as error:
        print(f"::error::not posted: the variable {error} is not set")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
