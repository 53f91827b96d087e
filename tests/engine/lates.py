"""What AWS answers for a while about what it has just made, and terraform-provider-aws tries again or asks again.

Sources: EC2 API reference, "Eventual consistency in the Amazon EC2 API"; IAM user guide, "Changes that I make are not
always immediately visible"; KMS API reference, CreateAlias; terraform-provider-aws, internal/service/ec2
(vpc_internet_gateway.go, vpc_route_table_association.go), iam/role.go, kms/key.go and alias.go, eks/cluster.go and
pod_identity_association.go, s3/bucket_*.go. It does not try CreateNodegroup, CreateNatGateway and
PutBucketOwnershipControls again: what these need must be there before.
"""

from typing import Any


def _late(action: str, code: str, times: int, status: int = 400, message: str = "") -> dict[str, Any]:
    said = {"message": message} if message else {}
    return {"action": action, "code": code, "status": status, "times": times, **said}


OF_A_CLUSTER = (
    _late("DescribeVpcs|DescribeSubnets", "InvalidID.NotFound", 6),
    _late("AttachInternetGateway", "InvalidInternetGatewayID.NotFound", 1),
    _late("AssociateRouteTable", "InvalidRouteTableID.NotFound", 2),
    _late("GetRole", "NoSuchEntity", 4, 404),
    _late("DescribeKey|EnableKeyRotation|CreateAlias", "NotFoundException", 5),
    _late(
        "CreateCluster",
        "InvalidParameterException",
        2,
        message="Role could not be assumed because the trusted entity is not correct",
    ),
    _late("DescribeCluster", "ResourceNotFoundException", 4, 404),
)
"""Of a network and a control plane."""

OF_A_STACK = (
    *OF_A_CLUSTER,
    _late("HeadBucket", "404", 2, 404),
    _late(
        "PutBucket(Versioning|Encryption|Policy|LifecycleConfiguration)|PutPublicAccessBlock", "NoSuchBucket", 5, 404
    ),
    _late(
        "CreatePodIdentityAssociation",
        "InvalidParameterException",
        3,
        message="Role provided in the request does not exist.",
    ),
)
"""Of a stack with buckets, and pods that have roles."""
