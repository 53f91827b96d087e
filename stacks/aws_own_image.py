"""Images of the user's own, which pools on AWS boot in place of EKS'."""

import re

import pulumi
import pulumi_aws as aws

from components.aws.cluster import Cluster
from components.aws.user_data import OwnImage
from components.layers import HardwarePool
from planner.pool_types import AwsPoolPlan

_AMI_ID = r"ami-[0-9a-f]{8,17}"


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


def image_in(value: str | None, pool: str, parameter: str) -> str:
    """The id of an AMI that a parameter's version holds. Raises RunError where `value` is none; a SecureString's is
    not told (None).
    """
    if value is None or not re.fullmatch(_AMI_ID, value):
        raise pulumi.RunError(
            f"gpucluster:pools, {pool}: ami: {parameter} holds no id of an AMI; name a version of a String whose "
            "value is one, such as ami-0123456789abcdef0"
        )
    return value


def _held(pool: str, parameter: str, hardware: HardwarePool) -> pulumi.Output[str]:
    """What this version of a parameter holds, in a preview too, without decryption, so that no key is asked for.

    A launch template could name the parameter itself (EC2 API reference, RequestLaunchTemplateData, ImageId), but the
    label of nodes is the id.
    """
    asked = aws.ssm.get_parameter_output(
        name=parameter, with_decryption=False, opts=pulumi.InvokeOutputOptions(parent=hardware)
    )
    return asked.insecure_value.apply(lambda value: image_in(value, pool, parameter))
