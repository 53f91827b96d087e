"""Whether somebody at an address reaches a cluster's API server.

Source: EKS user guide, "Cluster API server endpoint" (cluster-endpoint.adoc): the public endpoint answers the networks
of `publicAccessCidrs`; the private one is an address in the VPC, for whoever stands in it or in a network connected to
it, and lets in what the security groups of the control plane allow on port 443 ("Accessing a private only API server").
"""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from rehearsal.cloud.seen.aws import Aws
from rehearsal.cloud.seen.network import PRIVATE, End, Groups

HTTPS = 443


def barred(config: Mapping[str, Any], groups: Groups, vpc: Iterable[str], caller: str | None) -> str | None:
    """Why the caller does not reach the cluster of this `resourcesVpcConfig`; None if it does.

    Without a caller it is somebody on the Internet, in one of the networks that the public endpoint answers.
    """
    public = [IPv4Network(each) for each in config["publicAccessCidrs"]] if config["endpointPublicAccess"] else []
    if caller is None:
        return None if public else "the endpoint is private, and the caller is on the Internet"
    address = IPv4Address(caller)
    if any(address in network for network in public):
        return None
    if not config["endpointPrivateAccess"]:
        return f"{caller} is in none of publicAccessCidrs, and there is no private endpoint"
    if not any(address in IPv4Network(network) for network in (*PRIVATE, *vpc)):
        return f"{caller} is in none of publicAccessCidrs" if public else f"the endpoint is private, {caller} is not"
    ids = tuple(each for each in (config["clusterSecurityGroupId"], *config.get("securityGroupIds", ())) if each)
    if not groups.enters(End((), (caller,)), End(ids, ()), "tcp", HTTPS):
        return f"no rule of {', '.join(ids)} lets {caller} in on TCP {HTTPS}"
    return None


def ask(aws: Aws, cluster: str) -> str | None:
    """`barred` for the site's caller and the cluster as they are now."""

    def read() -> str | None:
        config = aws.eks.describe_cluster(name=cluster)["cluster"]["resourcesVpcConfig"]
        vpc = aws.ec2.describe_vpcs(VpcIds=[config["vpcId"]])["Vpcs"][0]
        blocks = [each["CidrBlock"] for each in vpc["CidrBlockAssociationSet"]]
        return barred(config, aws.groups(), blocks, aws.control("GET", "caller")["address"])

    reason: str | None = aws.cached(("reach", cluster), read)
    return reason
