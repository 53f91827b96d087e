"""Example values of the documentation that have to be replaced."""

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from planner.draft import Draft, rule
from planner.findings import Observation

_NETWORKS = tuple(IPv4Network(each) for each in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))
_ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?![\d.])")
_SIX = re.compile(r"2001:0?db8:|\b3fff:", re.IGNORECASE)
_DOMAIN = re.compile(r"(?:^|[@/.])example(?:\.(?:com|net|org|edu))?(?=[:/]|$)|\.(?:example|invalid|test)(?=[:/]|$)")
_ACCOUNT = re.compile(r"(?<!\d)(?:123456789012|012345678901|210987654321|111122223333|444455556666|777788889999)(?!\d)")
_SAME_DIGITS = re.compile(r"(?<!\d)(\d)\1{11}(?!\d)")
_WORDS = re.compile(
    r"(?:^|[/:@._-])(?:acme|change-?me|placeholder|amzn-s3-demo(?:-[a-z]+)?|"
    r"(?:my|your)-(?:bucket|company|org|team|account|models?|weights|data|registry))(?=$|[/:@._-])"
    r"|(?:^|[/:@])(?:doc-)?example(?=$|[/:@._-])",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"EXAMPLE|(?:cr-|vpc-|subnet-|sg-)0?123456789?|1234abcd-12ab-34cd-56ef-1234567890ab")
_TEXT = frozenset({"kind", "reason", "source", "subject"})
"""Keys of choices, of sentences, and of what is named elsewhere: ACME is a protocol, too. A dataset's source is an
address and begins like one."""

_MARK = "or say gpucluster:example: true, where nobody is to deploy it so"


@rule(
    "LF03",
    formula="no value is one of documentation, unless example: true",
    source="RFC 5737, RFC 3849, RFC 9637 (addresses); RFC 2606, RFC 6761 (names); AWS documentation (accounts, keys)",
)
def placeholder(draft: Draft) -> Iterable[Observation]:
    """Buckets, accounts, addresses and images are yours: values from documentation belong to nobody or to strangers."""
    if not draft.settings.example:
        for path, value, what, remedy in placeholders(draft.settings.model_dump(mode="json", by_alias=True)):
            yield Observation(path=path, sentence=f"{value} is {what}", remedy=f"{remedy}, {_MARK}", subject=value)


def placeholders(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Path, value, what the value is, and what to type instead, of every placeholder in plain settings."""
    for path, value in _texts("", settings):
        spoken = path.rpartition(".")[2] in _TEXT and "://" not in value
        found = None if spoken else _told(value)
        if found is not None:
            yield (path, value, *found)


def of_documentation(value: str) -> bool:
    """Whether a text names what documentation uses and nobody owns."""
    return _told(value) is not None


def _told(value: str) -> tuple[str, str] | None:
    """What is wrong with a text, and what to do; None if it may be somebody's."""
    if _SIX.search(value) or any(_documented(each) for each in _ADDRESS.findall(value)):
        return "an address of documentation, from which nobody comes", "type the networks of your own"
    if _ACCOUNT.search(value) or _SAME_DIGITS.search(value):
        return "of an account of documentation", "type the 12 digits of your own (aws sts get-caller-identity)"
    if _IDENTIFIER.search(value):
        return "an id of documentation", "type the one of your own"
    if _DOMAIN.search(value):
        return "of a domain that is nobody's", "type the one of your own"
    if not value.startswith("/") and _WORDS.search(value):
        if value.startswith("s3://"):
            return "in a bucket of documentation, whoever owns it by now", "name a bucket that you own"
        return "a name of documentation", "type the one of your own"
    return None


def _documented(text: str) -> bool:
    try:
        network = IPv4Network(text, strict=False)
    except ValueError:
        return False
    return any(network.subnet_of(each) for each in _NETWORKS)


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _texts(f"{path}.{key}" if path else str(key), below)
    elif isinstance(value, list | tuple):
        for index, below in enumerate(value):
            yield from _texts(f"{path}[{index}]", below)
