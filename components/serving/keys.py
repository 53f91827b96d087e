"""The keys of a service: what its callers send, and what Prometheus sends for the metrics.

One or two keys are valid at a time. A caller's key changes in three steps without an outage: the new one is added, the
callers change, the old one is taken away. A Secret of Pulumi's is named by what it holds, so that each step is a
rollout. One that follows what is kept outside keeps its name, and the door reads it again.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name
from components.serving.tokens import KEY, SecretKey

ADMITTED, SCRAPER = "keys.conf", "scraper"
SERVICE_KEY = "gpucluster/service"
"""Label of a service's Secret, whose name ends with a digest that changes with the keys."""


@dataclass(frozen=True, kw_only=True)
class CallerKeys:
    """A Secret that `name` names when it exists: the file for the door, the first caller's key, the scraper's. What it
    holds changes while pods run, if it `follows` what is kept outside.
    """

    name: pulumi.Output[str]
    follows: bool = False

    @property
    def caller(self) -> SecretKey:
        """What a first request is sent with."""
        return SecretKey(name=self.name, key=KEY)

    @property
    def scraper(self) -> SecretKey:
        """What Prometheus is let in with."""
        return SecretKey(name=self.name, key=SCRAPER)


@dataclass(frozen=True, kw_only=True)
class ServiceKeysArgs:
    """`keys` are the callers', the first of which the program itself uses."""

    service: str
    namespace: pulumi.Input[str]
    keys: Sequence[pulumi.Output[str]]


def scraper_key(key: str) -> str:
    """What the scraper of a service sends: nobody gets a caller's key from it, and nobody has to keep one more."""
    return hmac.new(key.encode(), b"scraper of metrics", hashlib.sha256).hexdigest()


def admitted(keys: Sequence[str]) -> str:
    """The maps from an Authorization header to `yes` or `no`, of callers and of scrapers.

    nginx compares the strings of a map without regard to case, so a key is an expression that stands for itself
    (nginx.org, ngx_http_map_module, `map`). A quoted parameter ends at a quote, and a backslash before one goes
    (nginx, src/core/ngx_conf_file.c), so that both are written as PCRE's \\xHH.
    """
    return "".join(
        _map(variable, [_literal(key) for key in each])
        for variable, each in (("caller", keys), ("scraper", [scraper_key(key) for key in keys]))
    )


def _map(variable: str, expressions: Sequence[str]) -> str:
    lines = "".join(f'  "~^(?i:bearer) +{each}\\z" yes;\n' for each in expressions)
    return f"map $http_authorization ${variable} {{\n  default no;\n{lines}}}\n"


def _literal(key: str) -> str:
    """An expression that matches this text: letters and digits stand for themselves, each other byte is \\xHH."""
    return re.sub(rb"[^A-Za-z0-9]", lambda found: b"\\x%02x" % found[0][0], key.encode()).decode()


def templates(names: Sequence[str]) -> dict[str, str]:
    """The same files, as the controller of External Secrets makes them of keys that it knows by these names.

    It has no function for a keyed digest; a digest of words before the key tells as little of it. A key is what a
    bearer's token may be (RFC 6750, section 2.1), and each character of it that is no letter or digit stands in
    brackets for itself; another key is told of and changes nothing. Source: its runtime/template/v2 (sprig's functions
    but for three).
    """
    scraped = [f'printf "scraper of metrics %s" .{name} | sha256sum' for name in names]
    callers = [f'regexReplaceAll "[^A-Za-z0-9]" .{name} "[${{0}}]"' for name in names]
    checks = "".join(_CHECKED % (name, name) for name in names)
    maps = "".join(
        _map(variable, [f"{{{{ {each} }}}}" for each in expressions])
        for variable, expressions in (("caller", callers), ("scraper", scraped))
    )
    return {ADMITTED: checks + maps, KEY: f"{{{{ .{names[0]} }}}}", SCRAPER: f"{{{{ {scraped[0]} }}}}"}


_CHECKED = (
    '{{ if not (regexMatch "^[A-Za-z0-9._~+/-]+=*$" .%s) }}'
    '{{ fail "%s is no bearer token: letters, digits and . _ ~ + / -, and no new line" }}{{ end }}'
)


class ServiceKeys(Component):
    """The Secret of one service's keys."""

    keys: CallerKeys

    def __init__(self, name: str, args: ServiceKeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        known = pulumi.Output.all(*args.keys)
        content: pulumi.Output[dict[str, str]] = pulumi.Output.secret(known.apply(_content))
        secret = k8s.core.v1.Secret(
            self.named("secret"),
            metadata=k8s.meta.v1.ObjectMetaArgs(
                # Eight digits of a digest tell nothing of a key; without this every name after it were a secret.
                name=pulumi.Output.unsecret(known.apply(lambda keys: _named(args.service, keys))),
                namespace=args.namespace,
                labels={SERVICE_KEY: args.service},
            ),
            immutable=True,
            string_data=content,
            opts=self.child(),
        )
        self.keys = CallerKeys(name=secret.metadata.name.apply(str))
        self.register_outputs({"secret": self.keys.name})


def _content(keys: Sequence[str]) -> dict[str, str]:
    return {ADMITTED: admitted(keys), KEY: keys[0], SCRAPER: scraper_key(keys[0])}


def _named(service: str, keys: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:8]
    return physical_name(service, "keys", digest, limit=63)
