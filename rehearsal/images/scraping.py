"""Configurations of Prometheus and Alertmanager as their processes on this machine read them.

Three things are put in, nothing else changes: paths of the container become paths of this machine, addresses of the
cluster are dialled through its proxy (`proxy_url`), and Prometheus watches Kubernetes with the pod's own identity
(`kubeconfig_file`) where it would take that from its container. Sources: Prometheus 3 "Configuration" and Alertmanager
"Configuration", `<http_config>`, `<kubernetes_sd_config>`, `<email_config>`.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from rehearsal import places

Config = dict[str, Any]
_VARIABLE = re.compile(r"\$\((?P<name>\w+)\)")
_NO_FILES = frozenset(
    ["metrics_path", "path_prefix", "replacement", "regex", "params", "labels", "external_labels", "match", "matchers"]
)
"""What is no path of a file however it begins, nor anything below it."""
# Mail is not HTTP: no proxy keeps it in the cluster. Nobody listens on port 1.
NO_SMARTHOST = f"{places.LOOPBACK}:1"


@dataclass(frozen=True)
class Machine:
    """Where a container's files lie on this machine: `root` + the path in it. `env` is put in for `$(NAME)`."""

    root: str
    kubeconfig: str
    proxy: str
    env: Mapping[str, str] = field(default_factory=dict)

    def path(self, text: str) -> str:
        """A path of the container as it is on this machine, where nothing lies behind those below no mount. A text
        that a variable may make a path is one if that makes it one; any other text is as it is.
        """
        known = _VARIABLE.sub(lambda found: self.env.get(found["name"], found[0]), text)
        if not known.startswith("/") and ".." not in known.split("/"):
            return text
        return self.root + posixpath.normpath("/" + known.lstrip("/"))


def prometheus(text: bytes, machine: Machine) -> bytes:
    """`prometheus.yaml` for a process on this machine. Pure."""
    config = _moved(_load(text), machine)
    alerting = config.get("alerting") or {}
    reached = [
        *(config.get("scrape_configs") or []),
        *(alerting.get("alertmanagers") or []),
        *(config.get("remote_write") or []),
        *(config.get("remote_read") or []),
    ]
    for each in reached:
        _dial(each, machine)
        for found in each.get("kubernetes_sd_configs") or []:
            if not found.get("api_server"):
                found["kubeconfig_file"] = machine.kubeconfig
    return _dump(config)


def alertmanager(text: bytes, machine: Machine) -> bytes:
    """`alertmanager.yaml` for a process on this machine; notifications go through the proxy, mail nowhere. Pure."""
    config = _moved(_load(text), machine)
    common = config.setdefault("global", {})
    _dial(common.setdefault("http_config", {}), machine)
    for each in (common, *_integrations(config, "email_configs")):
        for key in ("smtp_smarthost", "smarthost"):
            if key in each:
                each[key] = NO_SMARTHOST
    for each in _integrations(config):
        if each.get("http_config"):
            _dial(each["http_config"], machine)
    return _dump(config)


def moved(text: bytes, machine: Machine) -> bytes:
    """Another file of settings, whose paths are those of this machine. Pure."""
    return _dump(_moved(_load(text), machine))


def _integrations(config: Config, kind: str = "") -> Iterator[Config]:
    """What each receiver sends to."""
    for receiver in config.get("receivers") or []:
        for name, each in receiver.items():
            if name.endswith("_configs") and kind in ("", name):
                yield from each


def _dial(settings: Config, machine: Machine) -> None:
    """Goes through the cluster's proxy, whatever proxy it asked for: that would lie outside the cluster."""
    for key in ("proxy_from_environment", "no_proxy", "proxy_connect_header"):
        settings.pop(key, None)
    settings["proxy_url"] = machine.proxy


def _moved(value: Any, machine: Machine) -> Any:
    """The same with every path of the container as it is on this machine."""
    if isinstance(value, dict):
        return {key: each if key in _NO_FILES else _moved(each, machine) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, machine) for each in value]
    return machine.path(value) if isinstance(value, str) else value


def _load(text: bytes) -> Config:
    return dict(yaml.load(text, Loader=yaml.CSafeLoader) or {})


def _dump(config: Config) -> bytes:
    return str(yaml.dump(config, Dumper=yaml.CSafeDumper, sort_keys=False, width=4096)).encode()
