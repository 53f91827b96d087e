"""What a person is told beside the plugins' own words: a remedy where these name none, and silence about noise."""

import re

from rehearsal.engine.events import Diagnostic

REMEDIES = {
    "incorrect passphrase": (
        "The state's secrets are encrypted with another passphrase than the one in this rehearsal's"
        " `pulumi/passphrase`: put the right one back; `down` ends the rehearsal without it"
    ),
    "asked for the client to provide credentials": (
        "Map the principal behind these credentials to the cluster (on EKS an access entry), then run `up` again"
    ),
    "cluster is unreachable: ": (
        "Pulumi checks once, at its start, whether a cluster answers: check its endpoint and the route to it, then"
        " run `up` again"
    ),
    "Timeout occurred polling for": (
        "Pulumi gives no reason for a claim or volume that is not bound: see `kubectl describe`, or `status` in a"
        " rehearsal"
    ),
    "server-side apply field conflict detected": (
        "Leave these fields to the manager that the conflict names, or take them with the annotation "
        "pulumi.com/patchForce"
    ),
    "CREATE_FAILED": (
        "EKS neither retries nor updates a CREATE_FAILED node group, even if nodes join it later: remove the cause,"
        " then replace it with `pulumi up --replace` and the URN of this resource"
    ),
    r"(?<!Request)(?<!Rate)LimitExceeded|MaxSpotInstanceCountExceeded": (
        "A quota of the account is too small: request a higher one (Service Quotas, same region), then run `up` again"
    ),
    "Insufficient(Instance)?Capacity|UnfulfillableCapacity|ReservationCapacityExceeded": (
        "AWS has no such instances left there: try again later, or take another zone or type, or a reservation"
    ),
    "InsufficientFreeAddressesInSubnet": "The subnet has no address left: take a larger one, or fewer nodes",
    "AccessDenied|UnauthorizedOperation|is not authorized to perform": (
        "Whoever deploys may not do this: let its role, its permissions boundary and the organisation's policies"
        " allow the action, then run `up` again"
    ),
    "ExpiredToken|RequestExpired": "The credentials have expired: sign in again, then repeat the command",
    "DependencyViolation": (
        "Something that this program did not make still uses it, such as a load balancer or interface of a controller:"
        " remove that, then repeat the command"
    ),
}
"""Patterns of an error, and what to do about it. Codes: EC2 API reference, "Error codes"; EKS user guide, "Troubleshoot
problems with Amazon EKS clusters and nodes" (health issues of managed node groups).
"""

NOISE = (
    "no storage class found for",
    "[PodInitializing]",
    "[MinimumReplicasUnavailable]",
    "containers with incomplete",
)
"""Passing warnings of pulumi-kubernetes that every good `up` has: static claims, pods that start."""


def remedy(text: str) -> str:
    """What to do about an error, cause first; empty where its own words have to do."""
    return ". ".join(sentence for words, sentence in reversed(REMEDIES.items()) if re.search(words, text))


def is_noise(diagnostic: Diagnostic) -> bool:
    """Whether the line tells of nothing that is wrong."""
    return (
        diagnostic.passing and diagnostic.severity == "warning" and any(words in diagnostic.message for words in NOISE)
    )
