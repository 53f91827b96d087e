"""The keys of a service: what its callers send, and what Prometheus sends for the metrics.

One or two keys are valid at a time. A caller's key changes in three steps without an outage: the new one is added, the
callers change, the old one is taken away. The Secret is named by what it holds, so that each step is a rollout.
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


@dataclass(frozen=True, kw_only=True)
class CallerKeys:
    """A Secret that `name` names when it exists: the file for the door, the first caller's key, the scraper's."""

    name: pulumi.Output[str]

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
        _map(variable, each) for variable, each in (("caller", keys), ("scraper", [scraper_key(key) for key in keys]))
    )


def _map(variable: str, keys: Sequence[str]) -> str:
    lines = "".join(f'  "~^(?i:bearer) +{_literal(key)}\\z" yes;\n' for key in keys)
    return f"map $http_authorization ${variable} {{\n  default no;\n{lines}}}\n"


def _literal(key: str) -> str:
    """An expression that matches this text: letters and digits stand for themselves, each other byte is \\xHH."""
    return re.sub(rb"[^A-Za-z0-9]", lambda found: b"\\x%02x" % found[0][0], key.encode()).decode()


class ServiceKeys(Component):
    """The Secret of one service's keys."""

    keys: CallerKeys

    def __init__(self, name: str, args: ServiceKeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        known = pulumi.Output.all(*args.keys)
        content: pulumi.Output[dict[str, str]] = pulumi.Output.secret(known.apply(_content))
        secret = k8s.core.v1.Secret(
            self.named("secret"),
            k8s.core.v1.SecretInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    # Eight digits of a digest tell nothing of a key; without this every name after it were a secret.
                    name=pulumi.Output.unsecret(known.apply(lambda keys: _named(args.service, keys))),
                    namespace=args.namespace,
                ),
                immutable=True,
                string_data=content,
            ),
            self.child(),
        )
        self.keys = CallerKeys(name=secret.metadata.name.apply(str))
        self.register_outputs({"secret": self.keys.name})


def _content(keys: Sequence[str]) -> dict[str, str]:
    return {ADMITTED: admitted(keys), KEY: keys[0], SCRAPER: scraper_key(keys[0])}


def _named(service: str, keys: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:8]
    return physical_name(service, "keys", digest, limit=63)
