"""Further ranges of a VPC. Source: terraform-provider-aws internal/service/ec2/vpc_ipv4_cidr_block_association.go."""

from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Row, Wait, words


def _read(obj: Object) -> Any:
    """It is told of by its VPC alone, which has each range once."""
    vpc, cidr = obj.inputs.get("vpcId"), obj.inputs.get("cidrBlock")
    by = ("vpc-id", vpc) if vpc else ("cidr-block-association.association-id", obj.id)
    found = obj.search("describe_vpcs -> Vpcs[0]", Filters=[{"Name": by[0], "Values": [by[1]]}]) or {}
    for each in found.get("CidrBlockAssociationSet") or ():
        here = each["AssociationId"] == obj.id if obj.id else each["CidrBlock"] == cidr
        if here and each["CidrBlockState"]["State"] != "disassociated":
            return {**each, "VpcId": found["VpcId"]}
    return None


def _delete(obj: Object) -> None:
    obj.call("disassociate_vpc_cidr_block", AssociationId=obj.id)


ROWS: dict[str, Row] = {
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": Row(
        create="associate_vpc_cidr_block -> CidrBlockAssociation",
        read=_read,
        delete=_delete,
        id="{AssociationId}",
        key={"VpcId": "{vpcId}", "CidrBlock": "{cidrBlock}"},
        force_new=words("*"),
        computed=words("cidrBlock"),
        wait=Wait("CidrBlockState.State", ("associated",), ("failed",)),
        busy=("InvalidCidrBlock.InUse",),
        timeouts=(10 * MINUTE, 10 * MINUTE, 10 * MINUTE),
    ),
}
