"""Rules about launch templates: that their changes arrive, and that their disk is the one that a node starts from."""

from collections.abc import Iterator

from policy.graph import UNKNOWN, Graph
from policy.pools import pools
from policy.rule import Finding, rule

MOVING = ("$Default", "$Latest")
DISKS = {"AL2": "/dev/xvda", "BOTTLEROCKET": "/dev/xvdb"}
"""By the beginning of an AMI type: the disk on which images and pods' files lie."""


@rule(
    source="terraform-provider-aws, aws_eks_node_group, launch_template.version: EKS turns $Default and $Latest into a "
    "number once; EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html",
    remedy="name the template's latestVersion, whose change updates the group",
)
def changes_of_templates_arrive(graph: Graph) -> Iterator[Finding]:
    """A node group names its template's version by number, so that a change of the template reaches the nodes."""
    for pool in pools(graph):
        version = (pool.group.inputs.get("launchTemplate") or {}).get("version")
        if pool.template and str(version) in MOVING:
            yield pool.group.name, f"names the version {version} of {pool.name}, whose changes then reach no node"


@rule(
    source="EC2 guide: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/device_naming.html; Karpenter: "
    "https://karpenter.sh/docs/concepts/nodeclasses/#specblockdevicemappings (/dev/xvda; Bottlerocket: /dev/xvdb)",
    remedy="map /dev/xvda on Amazon Linux, /dev/xvdb on Bottlerocket",
)
def disks_are_the_images_own(graph: Graph) -> Iterator[Finding]:
    """A template's disk is the one that its AMI keeps images on: another name adds a disk that nobody mounts."""
    for pool in pools(graph):
        wanted = next((name for family, name in DISKS.items() if pool.ami.startswith(family)), "")
        mapped = [str(each.get("deviceName")) for each in pool.settings.get("blockDeviceMappings") or []]
        if wanted and mapped and wanted not in mapped and UNKNOWN not in mapped:
            yield (
                pool.name,
                f"has a disk at {', '.join(mapped)}; {pool.ami} keeps images on {wanted}, which keeps its size",
            )


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html; EKS API: "
    "NodegroupUpdateConfig.updateStrategy (LF07)",
    remedy="updateConfig: {updateStrategy: MINIMAL}, which takes a node away before it adds one",
)
def updates_need_no_spare_nodes(graph: Graph) -> Iterator[Finding]:
    """Pools in a placement group, a block or a reservation are updated without nodes beyond their own (LF07)."""
    for pool in pools(graph):
        strategy = (pool.group.inputs.get("updateConfig") or {}).get("updateStrategy", "DEFAULT")
        bound = [key for key in ("placement", "capacityReservationSpecification") if pool.settings.get(key)]
        if strategy == "DEFAULT" and bound:
            yield (
                pool.group.name,
                "is updated by the strategy DEFAULT, which first starts twice as many nodes as it has zones, or "
                f"maxUnavailable: its {' and '.join(bound)} may have none",
            )
