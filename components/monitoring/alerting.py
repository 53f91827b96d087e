"""Alertmanager's configuration: who is notified of what, and which alert inhibits which (X02).

It names a file for every secret, so the configuration itself is not confidential: addresses and keys are in a separate
Secret, which the operator mounts and Alertmanager reads for each notification.
Source: Alertmanager 0.34, docs/configuration.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SEVERITIES = ("critical", "warning", "info")
"""Worst first. The chart's Watchdog and InfoInhibitor have `none`, which reaches nobody."""

SECRETS_MOUNT = "/etc/alertmanager/secrets"
"""Where the operator mounts what `alertmanagerSpec.secrets` names (API reference, AlertmanagerSpec)."""

NOBODY = "nobody"
TEXT = (
    "{{ range .Alerts }}*{{ .Labels.severity }}* {{ .Annotations.summary }}"
    ' (firing since {{ .StartsAt.UTC.Format "2006-01-02 15:04" }} UTC)\n'
    "{{ .Annotations.description }}\n{{ .Annotations.runbook_url }}\n{{ end }}"
)


@dataclass(frozen=True, kw_only=True)
class Mail:
    """A mailbox and the server that takes mail for it."""

    to: str
    sender: str
    server: str
    username: str


@dataclass(frozen=True, kw_only=True)
class Receiver:
    """Who is told of alerts `at_least` so severe: `channel` where it is Slack, `mail` where it is e-mail."""

    name: str
    kind: str
    at_least: str
    channel: str | None = None
    mail: Mail | None = None


def alertmanager_config(receivers: Sequence[Receiver], secrets: Mapping[str, str]) -> dict[str, Any]:
    """The configuration; `secrets` are the names of the Secrets that have the receivers' files, by receiver."""
    return {
        "route": {
            "receiver": NOBODY,
            "group_by": ["alertname", "namespace", "node"],
            "group_wait": "30s",
            "group_interval": "5m",
            "repeat_interval": "4h",
            "routes": [
                {"receiver": each.name, "matchers": [f'severity=~"{_at_least(each.at_least)}"'], "continue": True}
                for each in receivers
            ],
        },
        "inhibit_rules": [
            # Two that lack a label agree on it.
            *(_quiet(f'severity="{worse}"', f'severity=~"{lighter}"') for worse, lighter in _LIGHTER.items()),
            # What a failure does to a run or a service is inhibited while the failure itself fires.
            {
                "source_matchers": ['symptom="no"', 'severity="critical"', 'pool!=""'],
                "target_matchers": ['symptom="yes"'],
                "equal": ["pool"],
            },
            {
                "source_matchers": ['alertname="InfoInhibitor"'],
                "target_matchers": ['severity="info"'],
                "equal": ["namespace"],
            },
        ],
        "receivers": [
            {"name": NOBODY},
            *(
                {"name": each.name, **_told(each, f"{SECRETS_MOUNT}/{secrets[each.name]}/{each.name}")}
                for each in receivers
            ),
        ],
    }


_LIGHTER: Mapping[str, str] = {"critical": "warning|info", "warning": "info"}


def _at_least(severity: str) -> str:
    return "|".join(SEVERITIES[: SEVERITIES.index(severity) + 1])


def _quiet(source: str, target: str) -> dict[str, Any]:
    """The same alert about the same thing, less severe."""
    return {
        "source_matchers": [source],
        "target_matchers": [target],
        "equal": ["alertname", "namespace", "node", "gpu"],
    }


def _told(receiver: Receiver, file: str) -> dict[str, Any]:
    if receiver.kind == "slack":
        return {
            "slack_configs": [{"api_url_file": file, "channel": receiver.channel, "send_resolved": True, "text": TEXT}]
        }
    if receiver.kind == "pagerduty":
        severity = "{{ .CommonLabels.severity }}"
        return {"pagerduty_configs": [{"routing_key_file": file, "send_resolved": True, "severity": severity}]}
    if receiver.kind == "email" and receiver.mail:
        mail = receiver.mail
        return {
            "email_configs": [
                {
                    "to": mail.to,
                    "from": mail.sender,
                    "smarthost": mail.server,
                    "auth_username": mail.username,
                    "auth_password_file": file,
                    "send_resolved": True,
                }
            ]
        }
    return {"webhook_configs": [{"url_file": file, "send_resolved": True}]}
