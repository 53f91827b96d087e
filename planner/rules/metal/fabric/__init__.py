"""Rules about the compute fabric."""

from planner.rules.metal.fabric import cards, service, size, switches  # noqa: F401 - each registers its rules
