"""Rules about secrets in words: what anybody who may read a pod, a ConfigMap or a release would read."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.graph import Graph
from policy.owners import IN_CHARTS
from policy.pods import is_kubernetes, pods
from policy.rule import Finding, rule
from policy.services import PROBES
from policy.words import assigned, flags

_WORD = r"token|password|passwd|passphrase|pwd"
_KEYS = r"(?:api|access|secret|private|account|auth|encryption|signing|master|license|shared|ssh)[-_.]?key(?:[-_.]id)?"
_IN_VALUES = re.compile(rf"(?:^|[-_.])(?:{_WORD}|{_KEYS})$", re.IGNORECASE)
_IN_WORDS = re.compile(rf"(?:^|[-_.])(?:{_WORD}|{_KEYS}|(?:client|app|shared)[-_]secret|credentials?)$|^key$", re.I)
_IN_VARIABLES = re.compile(rf"{_IN_WORDS.pattern}|_SECRET$", re.IGNORECASE)
"""Names that hold a secret: HF_TOKEN, --api-key, adminPassword. In values and flags `secret` names a Secret."""

_OF_TEXT = re.compile(
    r"(?:^|[-_.])(?:bos|eos|pad|unk|sep|cls|mask|stop|special|image|audio|video|new|next|per|max|min|end|start|sort"
    r"|partition|primary|foreign|public|group|label|annotation|metric)[-_.]?(?:token|key)$",
    re.IGNORECASE,
)
"""Names of tokens of a text and keys of a table."""

_FORMS = re.compile(
    r"hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{20,}|xox[abp]-[\w-]{10,}|nvapi-[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|://[^/\s:@$]+:[^/\s:@$]+@|Bearer [A-Za-z0-9._-]{16,}"
)
"""Texts that are secrets by their form."""

_NOTHING = frozenset(
    {"", "empty", "none", "null", "dummy", "true", "false", "yes", "no", "on", "off", "auto", "default", "-"}
)


def _literal(name: str, value: str) -> bool:
    """Whether a value under the name of a secret is one: no reference, place, number of tokens or sign for nothing."""
    if value.lower() in _NOTHING or "$" in value or value.startswith(("/", "./", "<", "file:", "arn:")):
        return False
    return not (value.replace(".", "").isdigit() and name.lower().endswith(("token", "key", "auth")))


def _is_secret(names: re.Pattern[str], name: str, value: Any) -> bool:
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return bool(names.search(spelled)) and not _OF_TEXT.search(spelled) and _literal(name, str(value))


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(name, value) of everything in a value; an entry of name and value goes by its own name."""
    if isinstance(value, Mapping):
        if isinstance(value.get("name"), str) and isinstance(value.get("value"), str):
            yield value["name"], value["value"]
        for key, each in value.items():
            yield from _leaves(each, str(key))
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, name)
    elif isinstance(value, str):
        yield name, value


def _executed(container: Mapping[str, Any]) -> Iterator[list[str]]:
    """The commands that a kubelet runs in a container: of its probes, at its start and before its end."""
    cycle = container.get("lifecycle") or {}
    for each in (*(container.get(probe) for probe in PROBES), cycle.get("postStart"), cycle.get("preStop")):
        if command := ((each or {}).get("exec") or {}).get("command"):
            yield command


def _said(graph: Graph) -> Iterator[tuple[str, str, str]]:
    """(logical name, where, name) of each literal secret in variables, words, ConfigMaps and values."""
    for pod in pods(graph):
        for container in pod.containers:
            given = [(each.get("name", ""), each["value"]) for each in container.get("env") or [] if each.get("value")]
            for place, names, pairs in (
                ("env", _IN_VARIABLES, given),
                ("words", _IN_VARIABLES, list(assigned(container))),
                ("words", _IN_WORDS, flags(container)),
            ):
                yield from ((pod.owner, place, name) for name, value in pairs if _is_secret(names, name, value))
            texts = [text for _, text in _leaves(container)]
            yield from ((pod.owner, "words", found[0][:8] + "…") for text in texts if (found := _FORMS.search(text)))
            for command in _executed(container):
                pairs = [*flags({"command": command}), *assigned({"command": command})]
                yield from ((pod.owner, "words", name) for name, value in pairs if _is_secret(_IN_WORDS, name, value))
    for each in graph.resources.values():
        if is_kubernetes(each) and each.kind in (*IN_CHARTS, "ConfigMap"):
            key = "data" if each.kind == "ConfigMap" else "values"
            for name, value in _leaves(each.inputs.get(key) or {}):
                by_form = _FORMS.search(value)
                of_key = name.lower().endswith("key") and re.fullmatch(r"[a-z._-]+", value)
                if by_form or (_is_secret(_IN_VALUES, name, value) and "\n" not in value and not of_key):
                    yield each.name, key, by_form[0][:8] + "…" if by_form else name


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/security/secrets-good-practices/",
    remedy="put the value into a Secret and take it by secretKeyRef; in commands write $(NAME)",
)
def no_secret_in_words(graph: Graph) -> Iterator[Finding]:
    """No token, password or key is a literal in a variable, a command, a ConfigMap or chart values (Y07)."""
    for owner, place, name in dict.fromkeys(_said(graph)):
        yield owner, f"has the secret {name} in clear text in its {place}"
