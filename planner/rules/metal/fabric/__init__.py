"""Rules about the compute fabric."""

from planner.rules.metal.fabric import cards, pod_ports, service, size  # noqa: F401 - each registers its rules
