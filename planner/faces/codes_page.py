"""The page of codes: what their letters mean, and which rules of the planner answer each."""

import planner.rules.metal  # noqa: F401
from planner.draft import registry

CORRECTIONS = {
    "KJ": "training jobs on Kubernetes",
    "NW": "network planes and RDMA in pods",
    "HW": "servers and their parts",
    "IN": "inference servers",
    "FB": "fabric: leaves, spines, rails, links",
    "NC": "NCCL",
    "PF": "ML platform services and their calls",
    "PW": "power, cooling and cost",
    "SL": "Slurm",
    "ST": "storage and checkpoints",
    "DC": "DCGM, health and monitoring",
}
"""Known mistakes: rows of corrections.csv."""

REQUIREMENTS = {
    "A": "cluster shapes and layers",
    "B": "node hardware",
    "C": "model sizes and parallelism",
    "D": "links inside a node",
    "E": "fabric between nodes",
    "F": "network planes",
    "G": "storage",
    "H": "power, cooling, facility",
    "I": "procurement and cost tiers",
    "J": "Kubernetes",
    "K": "GPU Operator and GPU sharing",
    "L": "RDMA in Kubernetes",
    "M": "batch scheduling",
    "N": "training operator and jobs",
    "O": "training software",
    "P": "NCCL: configuration and tests",
    "Q": "inference serving",
    "R": "ML platform services",
    "S": "data staging",
    "T": "checkpoints and fault tolerance",
    "U": "node health",
    "V": "failures and troubleshooting",
    "W": "Slurm",
    "X": "monitoring and alerts",
    "Y": "security",
    "Z": "cost control and labs",
    "AA": "host tuning",
    "AB": "CI and lifecycle",
}
"""What the program was asked to do."""

LIFE = {"LF": "how AWS, Kubernetes and drivers really behave, where it differs from what one expects"}

_HEAD = """# Codes

Written by `make reference`. Codes such as KJ15 stand in the sources, the tests and the commits, so that a line can be
traced to why it is there. Nobody needs them to use the program. The number only counts.

| letters | about |
|---|---|
"""


def page() -> str:
    """The legend, and by code the rules that answer it."""
    rows = [
        f"| {each} | a known mistake, a row of [corrections.csv](corrections.csv): {it} |"
        for each, it in CORRECTIONS.items()
    ]
    rows += [f"| {each} | {it} |" for each, it in LIFE.items()]
    rows += [
        f"| {each} | a requirement, rows of [requirements.csv](requirements.csv): {it} |"
        for each, it in REQUIREMENTS.items()
    ]
    by_code: dict[str, list[str]] = {}
    for rule in registry.rules:
        for code in rule.guards:
            by_code.setdefault(code, []).append(f"`{rule.id}`")
    answered = [f"| {code} | {', '.join(sorted(rules))} |" for code, rules in sorted(by_code.items())]
    rules_head = "\n\n## Rules by code\n\n| code | [rules](planner.md) |\n|---|---|\n"
    return _HEAD + "\n".join(rows) + rules_head + "\n".join(answered) + "\n"
