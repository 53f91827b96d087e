"""Monitoring: counters, recording rules, failures with thresholds and runbooks. Data only, free of pulumi."""
