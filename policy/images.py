"""Machine images of EKS: which user data they read, and what they bring for GPUs."""

import json
import re
import tomllib
from email import message_from_string
from email.message import Message

NODE_CONFIG = "application/node.eks.aws"
SCRIPT = "text/x-shellscript"
LAUNCHERS = re.compile(r"/etc/eks/bootstrap\.sh")
"""What started nodes on Amazon Linux 2."""

CLUSTER = ("apiServerEndpoint", "certificateAuthority", "cidr")
"""Without one of them nodeadm refuses to start (amazon-eks-ami, nodeadm/internal/api/validator.go)."""

IS_NODE_CONFIG = (
    re.compile(r'"?apiVersion"?\s*:\s*"?node\.eks\.aws/v1'),
    re.compile(r'"?kind"?\s*:\s*"?NodeConfig\b'),
)


def boots(ami: str, text: str) -> str:
    """Why an AMI of this type does not read the user data; empty where it does, or where the AMI is your own."""
    if ami.startswith("BOTTLEROCKET_"):
        return _bottlerocket(ami, text)
    if ami.startswith("AL2023_"):
        return _al2023(ami, text)
    return ""


def joins(text: str) -> bool:
    """Whether the NodeConfigs of an image of your own name a cluster. Without any the node joins in some other way."""
    parts = [each for each in message_from_string(text).walk() if each.get_content_type() == NODE_CONFIG]
    told = "".join(str(each.get_payload()) for each in parts)
    return not parts or all(re.search(rf'"?{member}"?\s*:', told) for member in CLUSTER)


def _bottlerocket(ami: str, text: str) -> str:
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return f"has user data that is not TOML, which is what {ami} reads"
    return "" if "settings" in settings else f"has user data without [settings], which is all that {ami} reads"


def _al2023(ami: str, text: str) -> str:
    message = message_from_string(text)
    if message.get_content_maintype() != "multipart":
        return f"has user data that is not MIME multipart, which is how EKS merges its own into that of {ami}"
    parts = [each for each in message.walk() if not each.is_multipart()]
    if not parts or message.defects:
        return "has MIME user data without a part between its boundaries"
    if foreign := sorted({each.get_content_type() for each in parts} - {NODE_CONFIG, SCRIPT}):
        return f"has user data of the type {', '.join(foreign)}, which nodeadm of {ami} does not read"
    if any(LAUNCHERS.search(str(each.get_payload())) for each in parts):
        return f"starts its node by bootstrap.sh, which {ami} has not"
    return next((wrong for each in parts if (wrong := _node_config(each))), "")


def _node_config(part: Message) -> str:
    """What is wrong with a part that should be a NodeConfig, in JSON or YAML."""
    text = str(part.get_payload())
    if part.get_content_type() != NODE_CONFIG:
        return ""
    if not all(pattern.search(text) for pattern in IS_NODE_CONFIG):
        return "has a part application/node.eks.aws that is no NodeConfig of node.eks.aws/v1alpha1"
    if text.lstrip().startswith("{"):
        try:
            json.loads(text)
        except ValueError:
            return "has a NodeConfig that is no JSON"
    return ""


def brings_driver(ami: str) -> bool:
    """Whether an AMI of this type brings NVIDIA's driver and container toolkit."""
    return ami.endswith(("_NVIDIA", "_NVIDIA_FIPS", "_x86_64_GPU"))


def brings_device_plugin(ami: str) -> bool:
    """Whether an AMI of this type runs a device plugin for GPUs: Bottlerocket's do, Amazon Linux' do not."""
    return ami.startswith("BOTTLEROCKET_") and brings_driver(ami)
