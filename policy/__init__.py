"""Rules over everything that the program registers, as pure functions over a recorded graph (AB10)."""

from importlib import import_module

from policy.rule import rules_of

SUBJECTS = """
    registration aws network nodes capacity platform identity rights storage kubernetes places image_fields secrecy
    literals training sizes environment collectives topology daemons memory host starting volumes serving metrics
    services traffic callers security jobs shares owners sandboxes endpoints templates keeping bindings monitors
    replacement order members limits fabric gateways karpenter
"""
"""The modules of rules, in the order in which rules are asked and listed."""

RULES = rules_of(*(import_module(f"policy.{name}") for name in SUBJECTS.split()))
"""Every rule. A rule's name is its id."""
