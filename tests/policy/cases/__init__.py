"""What rules find and what they let pass, by subject: changes of recorded stacks."""

from tests.policy.cases import (
    account,
    capacity,
    ground,
    identity,
    network,
    nodes,
    objects,
    platform,
    reading,
    sandboxes,
    silent,
    storage,
    workloads,
)

CASES = [
    *nodes.CASES,
    *capacity.CASES,
    *network.CASES,
    *platform.CASES,
    *identity.CASES,
    *storage.CASES,
    *objects.CASES,
    *sandboxes.CASES,
    *account.CASES,
    *silent.CASES,
    *workloads.CASES,
    *reading.CASES,
    *ground.CASES,
]
