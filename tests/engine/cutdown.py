"""The program cut down to a network and a control plane, for tests of what AWS refuses: minutes become seconds."""

from .trees import Tree

_WHOLE = "    export(deploy(planned, loaded.config))\n"
_CLUSTER = """\
    provider = aws_provider(planned.deployment, planned.ownership)
    through = pulumi.ResourceOptions(providers=[provider])
    fabric, kube = Fabric("fabric", through), KubePlatform("kube-platform", through)
    account = ask_account(planned, provider)
    base = ground(planned, account, key(planned, account, fabric), fabric, after=None)
    cluster = Cluster("cluster", _cluster_args(planned, base, stands=False), pulumi.ResourceOptions(parent=kube))
"""
_IMPORTS = """
from components.aws.cluster import Cluster
from components.layers import Fabric, HardwarePool, KubePlatform
from stacks.aws import _addons, _cluster_args, _storage_place
from stacks.aws_ground import ask_account, ground, key
from stacks.providers import aws_provider, kubernetes_provider
"""


def cut_down(tree: Tree, more: str, imports: str) -> None:
    """Network and control plane, and `more` of them: lines of main() with what they import."""
    tree.edit("__main__.py", _WHOLE, _CLUSTER + more)
    tree.edit("__main__.py", "\n\ndef main()", f"{_IMPORTS}{imports}\n\ndef main()")
