"""Rules over everything that the program registers, as pure functions over a recorded graph (AB10)."""

from importlib import import_module
from pkgutil import iter_modules

from policy.rule import rules_of

NO_RULES = ("page",)
"""Modules that read the rules, and so cannot be read before them."""

RULES = rules_of(*(import_module(f"policy.{name}") for _, name, _ in iter_modules(__path__) if name not in NO_RULES))
"""Every rule, by its module in the order of the alphabet. A rule's name is its id."""
