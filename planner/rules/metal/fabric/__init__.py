"""Rules about the compute fabric."""

from planner.rules.metal.fabric import cards, pod_ports, service, size, switches

__all__ = ["cards", "pod_ports", "service", "size", "switches"]
