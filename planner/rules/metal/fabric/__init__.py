"""Rules about the compute fabric."""

from planner.rules.metal.fabric import cards, service, size

__all__ = ["cards", "service", "size"]
