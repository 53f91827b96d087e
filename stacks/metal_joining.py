"""How a machine joins the cluster: kubeadm's files, and the node that it registers, out of the plan."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pulumi

from catalogue.metal_versions import KUBE_VIP_IMAGE, KUBERNETES_IMAGES, RELEASES, Release
from components.metal import kube_vip, kubeadm, secrets
from components.metal.kubeadm import ClusterSpec, NodeSpec
from components.platform.taints import label_value
from components.storage.mounted_claims import MOUNTED_KEY
from planner.metal_types import MetalPlan
from planner.site import HostPlan, SitePlan
from stacks import metal_storage_node as storage_node
from stacks.gpu_pools import node_labels, node_taints
from stacks.metal_fabric import place_labels

SERIAL_KEY = "gpucluster/serial"
"""Label of a node: the machine that registered it. Another machine under its name is another node."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What machines are told beside the plan, all of it secret: the cluster's key, by what those who join know it, and
    the password at the mirror.
    """

    key: pulumi.Output[str]
    discovery: pulumi.Output[str] | None = None
    registry_password: pulumi.Output[str] | None = None


def release(plan: MetalPlan) -> Release:
    """The packages of the plan's minor. Raises KeyError for one that machines cannot be given."""
    return RELEASES[plan.kubernetes_version]


def cluster_spec(plan: MetalPlan, site: SitePlan, name: str) -> ClusterSpec:
    """The cluster as kubeadm makes it."""
    return ClusterSpec(
        name=name,
        version=release(plan).version,
        endpoint=site.endpoint,
        pod_cidr=site.pod_cidr,
        service_cidr=site.service_cidr,
        control_plane=[host.address for host in site.control_plane],
        images=plan.supply.directory(KUBERNETES_IMAGES) if plan.supply.registry else None,
    )


def node_spec(plan: MetalPlan, site: SitePlan, host: HostPlan) -> NodeSpec:
    """The node that a machine registers. Where the control plane's nodes are all of the system pools, they run ordinary
    pods too; otherwise nothing but the control plane.
    """
    if host.pool is None:
        return replace(storage_node.spec(host), pulls=plan.supply.login is None)
    pool = plan.pools[host.pool]
    mounted = {MOUNTED_KEY: "true"} if site.shared_files else {}
    system = sum(each.count for each in plan.pools.values() if each.role == "system")
    alone = host.control_plane and system > len(site.control_plane)
    return NodeSpec(
        name=host.name,
        address=host.address,
        labels=node_labels(pool)
        | place_labels(plan, host)
        | mounted
        | ({SERIAL_KEY: label_value(host.serial)} if host.serial else {}),
        taints=None if alone else node_taints(pool),
        pulls=plan.supply.login is None,
    )


def membership(
    plan: MetalPlan, site: SitePlan, host: HostPlan, cluster: str, known: Known
) -> dict[str, pulumi.Input[str]]:
    """The files of kubeadm. Every one has a secret in it, or may have."""
    spec, node = cluster_spec(plan, site, cluster), node_spec(plan, site, host)
    first = site.control_plane[0]

    def token(key: str, of: HostPlan) -> str:
        return secrets.join_token(key, of.name, of.serial)

    if host == first:
        told: dict[str, pulumi.Input[str]] = {
            "KUBEADM": known.key.apply(
                lambda key: kubeadm.init(
                    spec, node, token=token(key, host), certificate_key=secrets.certificate_key(key)
                )
            ),
            "CONTROL_PLANE_PEERS": " ".join((site.endpoint, *(each.address for each in site.control_plane[1:]))),
        }
    else:
        told = {
            "JOIN": known.key.apply(
                lambda key: kubeadm.join(
                    node,
                    token=token(key, host),
                    certificate_key=secrets.certificate_key(key) if host.control_plane else None,
                )
            )
        }
    guests = [each for each in site.nodes if each != first]
    if host.control_plane:
        told["LEAVING"] = " ".join(label_value(each) for each in site.leaving)
        told["INVITATIONS"] = known.key.apply(
            lambda key: "".join(
                f"{each.name} {token(key, each)} {'control-plane' if each.control_plane else 'worker'} "
                f"{label_value(each.serial) if each.serial else '-'}\n"
                for each in guests
            )
        )
    discovery = known.discovery if known.discovery is not None else pulumi.Output.from_input("")
    told["CONTROL_PLANE_FILES"] = pulumi.Output.all(known.key, discovery).apply(
        lambda values: files(plan, site, host, key=values[0], discovery=values[1])
    )
    return told


def files(plan: MetalPlan, site: SitePlan, host: HostPlan, *, key: str, discovery: str) -> str:
    """Files that kubeadm reads, and those of the control plane's own pods: a line MODE PATH BASE64 for each."""
    given: list[tuple[str, str, str]] = []
    if discovery:
        given.append(("600", kubeadm.DISCOVERY_FILE, discovery))
    if host.control_plane:
        first = host == site.control_plane[0]
        image = plan.supply.image(KUBE_VIP_IMAGE)
        held = kube_vip.manifest(image, address=site.endpoint, interface=host.management_nic, first=first)
        given += [
            ("600", kubeadm.ENCRYPTION_FILE, kubeadm.encryption(secrets.encryption_key(key))),
            ("600", kubeadm.AUDIT_FILE, kubeadm.audit()),
            ("600", "/etc/kubernetes/manifests/kube-vip.yaml", held),
        ]
    return given_lines(given)


def given_lines(given: Iterable[Sequence[str]]) -> str:
    """Files, each a mode, a path and a text, as the library of bundles reads them: a line MODE PATH BASE64 for each."""
    return "".join(f"{mode} {path} {base64.b64encode(content.encode()).decode()}\n" for mode, path, content in given)
