"""What to do about an error of an engine or a plugin that names no next step. It needs nothing but Python."""

import re

QUOTA = r"(?<!Request)(?<!Rate)LimitExceeded|MaxSpotInstanceCountExceeded|reached your quota"
NO_ADDRESS = "InsufficientFreeAddressesInSubnet"
IN_USE = "DependencyViolation"
UNREACHABLE = "cluster is unreachable: "

REMEDIES = {
    "incorrect passphrase": (
        "The state's secrets are encrypted with another passphrase than the one in this rehearsal's"
        " `pulumi/passphrase`: put the right one back; `down` ends the rehearsal without it"
    ),
    "asked for the client to provide credentials": (
        "Map the principal behind these credentials to the cluster (on EKS an access entry), then run `up` again"
    ),
    UNREACHABLE: (
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
    "failed to join the kubernetes cluster": (
        "Instances run, and their nodes did not reach the cluster in time: look at the console output of one (`aws ec2"
        " get-console-output`), and at the way from its subnet to the API, ECR, EC2 and STS"
    ),
    "InvalidKMSKey|KMSInvalidState|KMSKeyNotAccessible": (
        "The KMS key of a volume or secret is disabled, going, or closed to the service that uses it: look at its"
        " state and its policy"
    ),
    QUOTA: (
        "A quota of the account is too small: request a higher one (Service Quotas, same region), then run `up` again"
    ),
    "Insufficient(Instance)?Capacity|UnfulfillableCapacity|ReservationCapacityExceeded": (
        "AWS has no such instances left there: try again later, or take another zone or type, or a reservation"
    ),
    NO_ADDRESS: "The subnet has no address left: take a larger one, or fewer nodes",
    "AccessDenied|UnauthorizedOperation|is not authorized to perform": (
        "Whoever deploys may not do this: let its role, its permissions boundary and the organisation's policies"
        " allow the action, then run `up` again"
    ),
    "ExpiredToken|RequestExpired": "The credentials have expired: sign in again, then repeat the command",
    IN_USE: (
        "Something that this program did not make still uses it, such as a load balancer or interface of a controller:"
        " remove that, then repeat the command"
    ),
}
"""Patterns of an error, and what to do about it. Codes: EC2 API reference, "Error codes"; EKS user guide, "Troubleshoot
problems with Amazon EKS clusters and nodes" (health issues of managed node groups); words of the provider:
terraform-provider-aws, issues 39904 (keys) and terraform-aws-eks, issue 2149 (fleet requests).
"""


def remedy(text: str) -> str:
    """What to do about an error, cause first; empty where its own words have to do."""
    return ". ".join(REMEDIES[pattern] for pattern in known(text))


def known(text: str) -> list[str]:
    """The patterns of REMEDIES that an error matches, cause first."""
    return [pattern for pattern in reversed(REMEDIES) if re.search(pattern, text)]
