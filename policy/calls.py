"""Addresses in S3 that pods name in their words and their environment, and whether they read or write there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.graph import Graph
from policy.pods import Pod, pods
from policy.words import flags

ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.\-]+)((?:/[\w.\-=]+)*)")
_OPTION = r"(?:\s+--(?:(?:region|profile|exclude|include|endpoint-url|sse|sse-kms-key-id)\s+\S+|[\w-]+(?:=\S+)?))*"
COPY = re.compile(rf"\b(?:cp|sync|mv){_OPTION}\s+(\S+){_OPTION}\s+(\S+)")
WRITTEN = re.compile(r"(?:checkpoint|output|save|upload|result|artifact)s?(?:[_-]\w+)*", re.IGNORECASE)
"""Variables and flags that name where a program writes."""

VARIABLE = re.compile(r"\$(?:\{(\w+)\}|\((\w+)\)|(\w+))")
OWN_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")

READ, WRITE = "s3:GetObject", "s3:PutObject"
OF_KEYS = {READ: "kms:Decrypt", WRITE: "kms:GenerateDataKey"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One address, by whom it is called and by which actions: any of them will do where nobody can tell."""

    owner: str
    namespace: str
    account: str
    bucket: str
    prefix: str
    actions: tuple[str, ...]

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def key_actions(self) -> tuple[str, ...]:
        """What the same call does with the key of an encrypted bucket."""
        return tuple(OF_KEYS[each] for each in self.actions)


def calls(graph: Graph) -> Iterator[Call]:
    """Every address that a pod names, once for each pod and way."""
    for pod in pods(graph):
        found: dict[tuple[str, str], set[str]] = {}
        for container in pod.containers:
            environment = {each.get("name"): each.get("value") for each in container.get("env") or []}
            if any(each in environment for each in OWN_CREDENTIALS):
                continue
            text = _text(container, environment)
            if "--no-sign-request" not in text:
                for key, ways in _addresses(text, [*environment.items(), *flags(container)]):
                    found.setdefault(key, set()).update(ways)
        yield from _calls(pod, found)


def _calls(pod: Pod, found: Mapping[tuple[str, str], set[str]]) -> Iterator[Call]:
    for (bucket, prefix), ways in found.items():
        for actions in ([each] for each in sorted(ways)) if ways else [[READ, WRITE]]:
            yield Call(
                owner=pod.owner,
                namespace=pod.namespace,
                account=pod.spec.get("serviceAccountName") or "default",
                bucket=bucket,
                prefix=prefix,
                actions=tuple(actions),
            )


def _text(container: Mapping[str, Any], environment: Mapping[str, Any]) -> str:
    """The words of a container, with what its environment says in the place of variables."""
    words = " ".join(str(each) for each in [*(container.get("command") or []), *(container.get("args") or [])])

    def value(match: re.Match[str]) -> str:
        return str(environment.get(next(each for each in match.groups() if each)) or match.group())

    return VARIABLE.sub(value, words)


def _addresses(text: str, told: Sequence[tuple[Any, Any]]) -> Iterator[tuple[tuple[str, str], set[str]]]:
    for name, each in (("", text), *told):
        for match in ADDRESS.finditer(str(each)):
            yield (match[1], match[2].strip("/")), {WRITE} if WRITTEN.fullmatch(str(name)) else set()
    for source, sink in COPY.findall(text):
        for word, way in ((source, READ), (sink, WRITE)):
            if named := ADDRESS.search(word):
                yield (named[1], named[2].strip("/")), {way}
