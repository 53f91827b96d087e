"""Configurations of Prometheus and Alertmanager as processes on this machine read them."""

from typing import Any

import pytest
import yaml

from rehearsal.images import scraping

HERE = scraping.Machine(
    root="/pods/p/prometheus/current/fs",
    kubeconfig="/pods/p/prometheus/current/kubeconfig",
    proxy="http://127.0.0.1:1234",
    env={"KEY": "/root/.ssh/id", "UP": "..", "POD_NAME": "a"},
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
    ("path", "there"),
    [
        ("/etc/prometheus/rules/main/*.yaml", "/etc/prometheus/rules/main/*.yaml"),
        ("/root/.aws/credentials", "/root/.aws/credentials"),
        ("//etc/passwd", "/etc/passwd"),
        ("/etc/prometheus/certs/../../passwd", "/etc/passwd"),
        ("../../../../../../etc/passwd", "/etc/passwd"),
        ("$(KEY)", "/root/.ssh/id"),
        ("$(UP)/$(UP)/keys.json", "/keys.json"),
    ],
)
def test_no_path_of_a_configuration_leads_out_of_the_containers_files(path: str, there: str) -> None:
    """Behind one that lies below no mount is nothing, as in a container."""
    authorization = {"credentials_file": path}
    found = prometheus({"rule_files": [path], "scrape_configs": [{"job_name": "a", "authorization": authorization}]})
    assert found["rule_files"] == [HERE.root + there]
    assert found["scrape_configs"][0]["authorization"] == {"credentials_file": HERE.root + there}
    sent = alertmanager({"global": {"slack_api_url_file": path}, "templates": [path]})
    assert sent["global"]["slack_api_url_file"] == sent["templates"][0] == HERE.root + there
    web = yaml.safe_load(scraping.moved(yaml.dump({"tls_server_config": {"key_file": path}}).encode(), HERE))
    assert web == {"tls_server_config": {"key_file": HERE.root + there}}


def test_paths_of_addresses_stay() -> None:
    relabelled = {"target_label": "__metrics_path__", "replacement": "/probe", "regex": "/(.*)"}
    scrape = {"job_name": "a", "metrics_path": "/metrics", "relabel_configs": [relabelled], "params": {"x": ["/y"]}}
    assert prometheus({"scrape_configs": [scrape]})["scrape_configs"] == [{**scrape, "proxy_url": HERE.proxy}]


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
