"""Rules about the compute fabric."""

from planner.rules.metal.fabric import cards, service, size, switches

__all__ = ["cards", "service", "size", "switches"]
