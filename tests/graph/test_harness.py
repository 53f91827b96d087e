"""The recording monitor itself: what it must not let pass."""

from typing import Any

import pulumi
import pulumi_aws as aws
import pytest

from rehearsal.plugins.aws import sdk
from rehearsal.plugins.aws.table import ROWS
from tests.graph.harness import record
from tests.graph.outputs import outputs_of


def provider() -> aws.Provider:
    return aws.Provider("aws", region="us-east-2")


def test_two_resources_of_one_urn_fail() -> None:
    def program() -> None:
        through = pulumi.ResourceOptions(provider=provider())
        aws.ec2.Vpc("same", aws.ec2.VpcArgs(cidr_block="10.0.0.0/16"), through)
        aws.ec2.Vpc("same", aws.ec2.VpcArgs(cidr_block="10.1.0.0/16"), through)

    with pytest.raises(Exception, match="two resources have the URN"):
        record(program)


def test_a_type_nobody_described_fails() -> None:
    def program() -> None:
        aws.ec2.VpnGateway("vpn", aws.ec2.VpnGatewayArgs(), pulumi.ResourceOptions(provider=provider()))

    with pytest.raises(Exception, match=r"does not know this type\. To add it"):
        record(program)


@pytest.mark.parametrize("token", ROWS)
def test_every_row_of_the_plugin_gives_an_id_and_all_outputs(token: str) -> None:
    identity, outputs = outputs_of(token, "a", {})
    schema = sdk.schema(token)
    assert schema
    assert identity
    assert "" not in outputs.values()
    assert schema.outputs.keys() - schema.inputs.keys() - {"tags"} <= outputs.keys()


def test_secrets_are_seen_and_marked() -> None:
    def program() -> None:
        aws.ec2.Vpc(
            "vpc",
            aws.ec2.VpcArgs(cidr_block="10.0.0.0/16", tags={"token": pulumi.Output.secret("hush")}),
            pulumi.ResourceOptions(provider=provider()),
        )

    vpc = record(program).one("vpc")
    assert vpc.secret == {"tags"}
    assert vpc.inputs["tags"] == {"token": "hush"}


def test_ids_are_withheld_in_a_preview_and_known_in_an_update() -> None:
    seen: list[bool] = []

    def program() -> None:
        vpc = aws.ec2.Vpc("vpc", aws.ec2.VpcArgs(cidr_block="10.0.0.0/16"), pulumi.ResourceOptions(provider=provider()))
        vpc.id.apply(lambda identity: seen.append(identity.startswith("vpc-")))

    record(program, preview=True)
    assert seen == []
    record(program)
    assert seen == [True]


def test_a_nested_child_has_the_urn_the_engine_gives_it() -> None:
    class Outer(pulumi.ComponentResource):
        pass

    def program() -> None:
        outer = Outer("test:index:Outer", "outer", {}, pulumi.ResourceOptions(providers=[provider()]))
        inner = Outer("test:index:Inner", "inner", {}, pulumi.ResourceOptions(parent=outer))
        aws.ec2.Vpc("vpc", aws.ec2.VpcArgs(cidr_block="10.0.0.0/16"), pulumi.ResourceOptions(parent=inner))

    assert (
        "urn:pulumi:test::gpucluster::test:index:Outer$test:index:Inner$aws:ec2/vpc:Vpc::vpc"
        in record(program).resources
    )


def test_transforms_change_what_is_registered_as_the_engine_lets_them() -> None:
    """A resource's own first, then those of what it belongs to, then those of the stack; options as well as inputs."""

    class Outer(pulumi.ComponentResource):
        pass

    def saying(word: str) -> Any:
        def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
            if args.type_ != "aws:ec2/vpc:Vpc":
                return None
            given: Any = args.props
            tags = {"said": given["tags"]["said"] + word}
            args.opts.protect, args.opts.ignore_changes = True, ["tags"]
            return pulumi.ResourceTransformResult({**given, "tags": tags}, args.opts)

        return transform

    def program() -> None:
        pulumi.runtime.register_resource_transform(saying(" stack"))
        above = pulumi.ResourceOptions(providers=[provider()], transforms=[saying(" outer")])
        outer = Outer("test:index:Outer", "outer", {}, above)
        own = pulumi.ResourceOptions(parent=outer, transforms=[saying(" own")])
        aws.ec2.Vpc("vpc", aws.ec2.VpcArgs(cidr_block="10.0.0.0/16", tags={"said": "then"}), own)

    for preview in (False, True):
        vpc = record(program, preview=preview).one("vpc")
        assert vpc.inputs == {"cidrBlock": "10.0.0.0/16", "tags": {"said": "then own outer stack"}}
        assert (vpc.protect, vpc.ignore_changes, bool(vpc.provider)) == (True, ("tags",), True)
