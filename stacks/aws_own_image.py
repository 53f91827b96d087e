"""Images of the user's own, which pools on AWS boot in place of EKS'."""

import re

import pulumi
import pulumi_aws as aws

from components.aws.cluster import Cluster
from components.aws.user_data import OwnImage
from components.layers import HardwarePool
from planner.pool_types import AwsPoolPlan
from settings.aws_names import AMI_ID


def own_image(pool: AwsPoolPlan, ami: str, cluster: Cluster, hardware: HardwarePool) -> OwnImage:
    """The pool's image, `ami` as the stack file has it, and what its nodes join."""
    return OwnImage(
        ami=_held(pool.name, ami, hardware) if ami.startswith("/") else ami,
        cluster=cluster.name,
        endpoint=cluster.endpoint,
        authority=cluster.authority,
        services=cluster.services,
        max_pods=pool.max_pods,
    )


def _held(pool: str, parameter: str, hardware: HardwarePool) -> pulumi.Output[str]:
    """The id that this version of a parameter holds, in a preview too. Raises RunError where it holds something else.

    A launch template could name the parameter itself (EC2 API reference, RequestLaunchTemplateData, ImageId), but the
    label of nodes is the id. Without decryption no key is asked for; a SecureString has no `insecure_value`.
    """
    asked = aws.ssm.get_parameter_output(
        name=parameter, with_decryption=False, opts=pulumi.InvokeOutputOptions(parent=hardware)
    )

    def identity(value: str | None) -> str:
        if value is None or not re.fullmatch(AMI_ID, value):
            raise pulumi.RunError(
                f"gpucluster:pools, {pool}: ami: {parameter} holds no id of an AMI; name a version of a String whose "
                "value is one, such as ami-0123456789abcdef0"
            )
        return value

    return asked.insecure_value.apply(identity)
