"""Invariants of everything the program registers, as pure functions over a recorded graph (AB10)."""

from policy import aws, kubernetes, registration, secrecy

RULES = (*registration.RULES, *aws.RULES, *kubernetes.RULES, *secrecy.RULES)
"""Every rule. A rule's name is its id."""
