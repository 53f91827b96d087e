"""Configurations of Prometheus and Alertmanager as processes on this machine read them."""

from typing import Any

import pytest
import yaml

from rehearsal.images import scraping

HERE = scraping.Machine(
    mounts=("/etc/prometheus/rules/main", "/etc/prometheus/certs", "/var/run/secrets/kubernetes.io/serviceaccount"),
    root="/pods/p/prometheus/current/fs",
    kubeconfig="/pods/p/prometheus/current/kubeconfig",
    proxy="http://127.0.0.1:1234",
)


def prometheus(config: dict[str, Any]) -> dict[str, Any]:
    return dict(yaml.safe_load(scraping.prometheus(yaml.dump(config).encode(), HERE)))


def alertmanager(config: dict[str, Any]) -> dict[str, Any]:
    return dict(yaml.safe_load(scraping.alertmanager(yaml.dump(config).encode(), HERE)))


def test_every_address_that_is_dialled_goes_through_the_proxy() -> None:
    found = prometheus(
        {
            "scrape_configs": [{"job_name": "a", "proxy_from_environment": True}],
            "alerting": {"alertmanagers": [{"scheme": "http"}]},
            "remote_write": [{"url": "https://far.example.org", "proxy_url": "http://other"}],
        }
    )
    (write,) = found["remote_write"]
    for each in (*found["scrape_configs"], *found["alerting"]["alertmanagers"], write):
        assert each["proxy_url"] == HERE.proxy
    assert "proxy_from_environment" not in found["scrape_configs"][0]


def test_kubernetes_is_watched_with_the_pods_identity_unless_it_names_a_server() -> None:
    own, other = {"role": "endpoints"}, {"role": "node", "api_server": "https://elsewhere"}
    found = prometheus({"scrape_configs": [{"job_name": "a", "kubernetes_sd_configs": [own, other]}]})
    assert found["scrape_configs"][0]["kubernetes_sd_configs"] == [{**own, "kubeconfig_file": HERE.kubeconfig}, other]


@pytest.mark.parametrize(
    ("path", "moved"),
    [
        ("/etc/prometheus/rules/main/*.yaml", True),
        ("/etc/prometheus/certs", True),
        ("/etc/prometheus/certsX/a", False),
        ("/metrics", False),
        ("/var/run/secrets/kubernetes.io/serviceaccount/token", True),
    ],
)
def test_paths_of_mounts_lie_on_this_machine_and_others_stay(path: str, moved: bool) -> None:
    found = prometheus({"rule_files": [path], "scrape_configs": [{"metrics_path": path}]})
    expected = HERE.root + path if moved else path
    assert found["rule_files"] == [expected]
    assert found["scrape_configs"][0]["metrics_path"] == expected


def test_what_is_not_of_this_machine_stays_as_it_is() -> None:
    config = {
        "global": {"scrape_interval": "30s", "external_labels": {"replica": "$(POD_NAME)"}},
        "scrape_configs": [
            {"job_name": "on", "relabel_configs": [{"regex": "(.+)(?::\\d+);(\\d+)", "action": "keep"}]}
        ],
    }
    found = prometheus(config)
    del found["scrape_configs"][0]["proxy_url"]
    assert found == config


def test_notifications_leave_through_the_proxy_and_mail_does_not_leave() -> None:
    found = alertmanager(
        {
            "global": {"smtp_smarthost": "mail.example.org:25"},
            "receivers": [
                {"name": "nobody"},
                {"name": "mail", "email_configs": [{"to": "a@b", "smarthost": "other.example.org:25"}]},
                {
                    "name": "chat",
                    "slack_configs": [{"channel": "c"}, {"channel": "d", "http_config": {"no_proxy": "x"}}],
                },
            ],
        }
    )
    assert found["global"] == {"smtp_smarthost": scraping.NO_SMARTHOST, "http_config": {"proxy_url": HERE.proxy}}
    assert found["receivers"][1]["email_configs"] == [{"to": "a@b", "smarthost": scraping.NO_SMARTHOST}]
    plain, own = found["receivers"][2]["slack_configs"]
    assert plain == {"channel": "c"}
    assert own["http_config"] == {"proxy_url": HERE.proxy}
