"""Dashboards as pages of HTML, with the data of a Prometheus: to be looked at without a Grafana."""
