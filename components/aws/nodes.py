"""Node pools: a launch template per pool and the managed node group that starts from it.

The template carries the instance type, so that another type rolls through the pool instead of replacing the group.
It names neither a subnet nor an instance profile, which EKS refuses in a managed node group's template.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from catalogue.types import Interface, InterfaceType
from components._base import Component, physical_name
from components.aws.capacity import BLOCK_MARKET, CapacityBlock, HeldCapacity, held_for, started_in
from components.aws.node_repair import Repair, repaired
from components.aws.node_scripts import MirrorLogin, SandboxSource
from components.aws.user_data import OwnImage, bottlerocket_data, own_user_data, user_data
from components.platform.taints import Taint

EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
"""EKS' words for the effects of taints."""
ROOT_DEVICE, BOTTLEROCKET_DEVICE = "/dev/xvda", "/dev/xvdb"
"""Where images and pods' files lie; Bottlerocket's system has the first one for itself."""
BOTTLEROCKET_SYSTEM_GIB = 4
"""As Karpenter gives it (karpenter-provider-aws, pkg/providers/amifamily/bottlerocket.go)."""
TAGGED_WITH_THE_NODE = ("instance", "volume", "network-interface")


@dataclass(frozen=True, kw_only=True)
class NodePoolArgs:
    """One pool of `count` equal nodes, fewer while its capacity block does not run.

    `interfaces` is the template's list; every interface carries `security_group_ids`, EFA ones `efa_group_id` as well.
    `tags` reach instances, volumes and interfaces, which a provider's default tags do not. `after` is what must be
    there before a node can be Ready (the VPC CNI, and where its pods have addresses). An update takes `max_unavailable`
    nodes at a time, and by `update_strategy` MINIMAL ends them before it starts their successors. `repair` None leaves
    sick nodes alone. `reservation_id` names what is held for them on demand, `held` makes it: they start there and
    nowhere else. It is held in the pool's placement group, where there is one. The Lustre client takes `lustre_efa` of
    a node's EFA interfaces, 0 where it speaks TCP. With `further_types` EC2 takes any of them, and a change of them
    replaces the group. `kept`: the keeper says how many nodes there are and may be, whatever `count` becomes. It
    starts in the placement group `beside`, which another pool has made, where it is named. `sandbox` is where gVisor
    comes from, `login` where nodes read who they are at the mirror. With `exclusive_spare_millicores` pods have their
    CPUs to themselves, so much apart. Nodes boot the image `own`, where it is named, and else EKS' release of the type.
    One of Bottlerocket's keeps `hugepages` of 2 MiB, and takes neither `sandbox`, `login`, `lustre_efa` nor CPUs apart.
    """

    pool: str
    cluster_name: pulumi.Input[str]
    kubernetes_version: str
    ami_type: str
    ami_release: str
    node_role_arn: pulumi.Input[str]
    subnet_ids: Sequence[pulumi.Input[str]]
    security_group_ids: Sequence[pulumi.Input[str]]
    efa_group_id: pulumi.Input[str] | None
    instance_type: str
    count: int
    capacity_type: str
    interfaces: Sequence[Interface]
    placement_group: bool
    local_nvme: bool
    root_volume_gib: int
    labels: Mapping[str, str]
    taints: Sequence[Taint]
    tags: Mapping[str, str]
    update_strategy: str
    max_unavailable: int
    repair: Repair | None
    block: CapacityBlock | None = None
    reservation_id: pulumi.Input[str] | None = None
    held: HeldCapacity | None = None
    lustre_efa: int = 0
    further_types: Sequence[str] = ()
    kept: bool = False
    sandbox: SandboxSource | None = None
    own: OwnImage | None = None
    login: MirrorLogin | None = None
    exclusive_spare_millicores: int = 0
    parallel_pulls: bool = False
    hugepages: int = 0
    beside: pulumi.Input[str] | None = None
    after: Sequence[pulumi.Resource] = ()


class NodePool(Component):
    """A managed node group. `nodes` is the resource that exists when the pool's nodes do, `placement` the name of its
    placement group, None without one.
    """

    nodes: aws.eks.NodeGroup
    placement: pulumi.Output[str] | None

    def __init__(self, name: str, args: NodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        placement = self._create_placement_group() if args.placement_group else None
        target = args.block.reservation_id if args.block else args.reservation_id
        if args.held:
            target = held_for(self, args.instance_type, args.held, placement).id
        self.placement = placement.name if placement else None
        template = self._create_template(args, self.placement or args.beside, target)
        self.nodes = self._create_group(args, template)
        self.register_outputs({"nodeGroup": self.nodes.node_group_name})

    def _create_placement_group(self) -> aws.ec2.PlacementGroup:
        """Racks close to each other, for on-demand EFA pools; a capacity block lies close by itself and refuses one."""
        return aws.ec2.PlacementGroup(
            self.named("placement"),
            name=self.physical(self.named("placement"), limit=255),
            strategy="cluster",
            tags=self.tags("placement"),
            opts=self.child(),
        )

    def _create_template(
        self,
        args: NodePoolArgs,
        placement: pulumi.Input[str] | None,
        reservation: pulumi.Input[str] | None,
    ) -> aws.ec2.LaunchTemplate:
        return aws.ec2.LaunchTemplate(
            self.named("template"),
            name=self.physical(self.named("template"), limit=128),
            instance_type=None if args.further_types else args.instance_type,
            instance_market_options=BLOCK_MARKET if args.block else None,
            capacity_reservation_specification=started_in(reservation),
            image_id=args.own.ami if args.own else None,
            update_default_version=True,
            block_device_mappings=_volumes(args),
            metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
            ),
            network_interfaces=[self._interface(each, args) for each in args.interfaces],
            placement=aws.ec2.LaunchTemplatePlacementArgs(group_name=placement) if placement else None,
            user_data=_user_data(args),
            tag_specifications=[
                aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags={**args.tags, **self.tags("node")})
                for kind in TAGGED_WITH_THE_NODE
            ],
            tags=self.tags("template"),
            opts=self.child(),
        )

    def _interface(self, interface: Interface, args: NodePoolArgs) -> aws.ec2.LaunchTemplateNetworkInterfaceArgs:
        groups = list(args.security_group_ids)
        if any(each.interface_type is not InterfaceType.ENA for each in args.interfaces):
            if args.efa_group_id is None:
                raise ValueError(
                    f"{self.pulumi_resource_name}: EFA interfaces need their security group; pass efa_group_id"
                )
            groups.append(args.efa_group_id)
        return aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=interface.network_card_index,
            device_index=interface.device_index,
            interface_type=interface.interface_type.value,
            security_groups=groups,
            delete_on_termination="true",
        )

    def _create_group(self, args: NodePoolArgs, template: aws.ec2.LaunchTemplate) -> aws.eks.NodeGroup:
        kept = args.kept or args.block is not None
        now = args.block.nodes if args.block else 0 if kept else args.count
        return aws.eks.NodeGroup(
            self.named("nodes"),
            cluster_name=args.cluster_name,
            node_group_name=physical_name(args.pool, limit=63),
            node_role_arn=args.node_role_arn,
            subnet_ids=list(args.subnet_ids),
            # EKS takes none of the three beside an image of the template's own.
            version=None if args.own else args.kubernetes_version,
            ami_type=None if args.own else args.ami_type,
            release_version=None if args.own else args.ami_release,
            capacity_type=args.capacity_type,
            instance_types=[args.instance_type, *args.further_types] if args.further_types else None,
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=0 if kept else args.count,
                desired_size=now,
                max_size=max(args.count, 1),
            ),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(
                max_unavailable=args.max_unavailable, update_strategy=args.update_strategy
            ),
            node_repair_config=repaired(args.repair),
            launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            labels=dict(sorted(args.labels.items())),
            taints=[
                aws.eks.NodeGroupTaintArgs(key=taint.key, value=taint.value, effect=EFFECTS[taint.effect])
                for taint in args.taints
            ],
            tags=self.tags("nodes"),
            opts=self.child(
                depends_on=list(args.after) or None,
                ignore_changes=_left_alone(args),
                # EKS knows groups by name: where a replacement is asked for, Pulumi would make the new one first.
                delete_before_replace=True,
                custom_timeouts=pulumi.CustomTimeouts(create="40m", update="3h", delete="40m"),
            ),
        )


def _user_data(args: NodePoolArgs) -> pulumi.Input[str] | None:
    if _is_bottlerocket(args):
        return bottlerocket_data(raid=args.local_nvme, hugepages=args.hugepages)
    further: dict[str, Any] = {"raid": args.local_nvme, "lustre_efa": args.lustre_efa, "sandbox": args.sandbox}
    further |= {"login": args.login, "exclusive_spare_millicores": args.exclusive_spare_millicores}
    further["parallel_pulls"] = args.parallel_pulls
    if args.own is None:
        return user_data(**further)
    group = {"eks.amazonaws.com/nodegroup": physical_name(args.pool, limit=63)}
    return own_user_data(args.own, {**args.labels, **group}, args.taints, **further)


def _left_alone(args: NodePoolArgs) -> list[str] | None:
    """Sizes that an `up` does not touch. A change of one of them sends all three, an ignored one as it stands in the
    state, which is what the group was made with (terraform-provider-aws, internal/service/eks/node_group.go): the
    keeper has them all. Where a person fills a block, the most is the program's.
    """
    if args.kept:
        return ["scalingConfig"]
    return ["scalingConfig.desiredSize"] if args.block else None


def _is_bottlerocket(args: NodePoolArgs) -> bool:
    return args.ami_type.startswith("BOTTLEROCKET_")


def _volumes(args: NodePoolArgs) -> list[aws.ec2.LaunchTemplateBlockDeviceMappingArgs]:
    sizes = {ROOT_DEVICE: args.root_volume_gib}
    if _is_bottlerocket(args):
        sizes = {ROOT_DEVICE: BOTTLEROCKET_SYSTEM_GIB, BOTTLEROCKET_DEVICE: args.root_volume_gib}
    return [
        aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
            device_name=device,
            ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                volume_size=size, volume_type="gp3", encrypted="true", delete_on_termination="true"
            ),
        )
        for device, size in sizes.items()
    ]
