"""Rules about the compute fabric."""

from planner.rules.metal.fabric import cards, pod_ports, service, size, switches  # noqa: F401 - each registers its rules
