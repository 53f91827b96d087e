"""The rules, by subject. Importing this package registers them in `planner.draft.registry`."""

from planner.rules import capacity, cost, network, serving, storage, versions

__all__ = ["capacity", "cost", "network", "serving", "storage", "versions"]
