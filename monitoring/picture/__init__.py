"""Dashboards as HTML pages with Prometheus' data, for use without Grafana."""
