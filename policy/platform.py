"""Rules about EKS itself: its add-ons, who owns drivers and device plugins, who may deploy, where its log goes."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import yaml

from policy.documents import as_list, statements
from policy.graph import UNKNOWN, Graph, Resource
from policy.identity import ADDON, ASSOCIATION
from policy.images import brings_device_plugin, brings_driver
from policy.owners import chart_of
from policy.pods import pods
from policy.pools import NODE_GROUP, pools
from policy.reach import CLUSTER
from policy.references import before, behind
from policy.rule import Finding, rule

ENTRY = "aws:eks/accessEntry:AccessEntry"
ENTRY_POLICY = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
ADMIN = ("AmazonEKSClusterAdminPolicy",)
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
KEY = "aws:kms/key:Key"
LOGS_NEED = ("kms:Decrypt", "kms:GenerateDataKey", "kms:Encrypt", "kms:ReEncryptFrom", "kms:DescribeKey")

DRIVERS = {"ebs.csi.aws.com": "aws-ebs-csi-driver", "fsx.csi.aws.com": "aws-fsx-csi-driver"}
ENFORCING = ("cilium", "tigera-operator", "calico")
"""Charts of plugins that enforce NetworkPolicies."""

ALWAYS = ("vpc-cni", "kube-proxy", "coredns")
BEFORE_NODES = ("vpc-cni", "kube-proxy")


def _drivers(graph: Graph) -> set[str]:
    """Names of the CSI drivers of classes and static volumes."""
    classes = {str(each.inputs.get("provisioner")) for each in graph.of_type("StorageClass")}
    specs = [each.inputs.get("spec") or {} for each in graph.of_type("PersistentVolume")]
    return classes | {str((each.get("csi") or {}).get("driver")) for each in specs}


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html and "
    "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html",
    remedy="register the add-on for the cluster (aws.eks.Addon), or the chart of its name",
)
def addons_are_there(graph: Graph) -> Iterator[Finding]:
    """A cluster has the add-ons for its nodes to be Ready, pods to get credentials and volumes to be mounted."""
    charts = {chart_of(each) for each in graph.of_type("Release")}
    wanted = [(name, "no node becomes Ready, or no name is resolved") for name in ALWAYS]
    if graph.of_type(ASSOCIATION):
        wanted.append(("eks-pod-identity-agent", "no associated pod gets credentials"))
    wanted += [(DRIVERS[each], f"no volume of {each} is mounted") for each in sorted(_drivers(graph) & DRIVERS.keys())]
    for cluster in graph.of_type(CLUSTER):
        addons = {each.inputs.get("addonName"): each for each in _addons(graph, cluster)}
        has_nodes = any(pool.cluster and pool.cluster.urn == cluster.urn for pool in pools(graph))
        bootstrapped = cluster.inputs.get("bootstrapSelfManagedAddons", True)
        for name, without in wanted:
            there = name in addons or name in charts or (name in ALWAYS and bootstrapped)
            if has_nodes and not there:
                yield cluster.name, f"has no add-on {name}, without which {without}"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html: its agent "
    'waits for enableNetworkPolicy "true"; CreateAddon: configurationValues is a JSON or YAML document',
    remedy='configurationValues of vpc-cni: {"enableNetworkPolicy": "true"}, or a network plugin of its own (Cilium)',
)
def network_policies_are_enforced(graph: Graph) -> Iterator[Finding]:
    """NetworkPolicies are enforced: the network add-on is told to, or a plugin is installed that does (NW08)."""
    written = [each for each in graph.of_type("NetworkPolicy") if each.token.startswith("kubernetes:networking.k8s.io")]
    charts = {chart_of(each) for each in graph.of_type("Release", "Chart")}
    for addon in graph.of_type(ADDON):
        if (values := addon.inputs.get("configurationValues") or "{}") == UNKNOWN:
            continue
        try:
            told = yaml.safe_load(str(values))
        except yaml.YAMLError:
            told = None
        if not isinstance(told, Mapping):
            yield addon.name, "has configurationValues that are no document of JSON or YAML, which EKS refuses"
        elif addon.inputs.get("addonName") == "vpc-cni" and written and not charts & set(ENFORCING):
            if str(told.get("enableNetworkPolicy")).lower() == "true":
                continue
            yield addon.name, f"enforces no NetworkPolicy: {written[0].name} and all others let everybody through"


def _addons(graph: Graph, cluster: Resource) -> list[Resource]:
    named = graph.of_type(ADDON)
    return [
        each for each in named if cluster in behind(graph, each, "clusterName", each.inputs["clusterName"], CLUSTER)
    ]


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/managing-vpc-cni.html; "
    "terraform-aws-eks: before_compute of vpc-cni",
    remedy="let node groups depend on vpc-cni, and vpc-cni and kube-proxy on the cluster alone; coredns and drivers "
    "come after a node group",
)
def addons_come_in_order(graph: Graph) -> Iterator[Finding]:
    """The network add-on comes before nodes, which need it to be Ready; add-ons with pods come after nodes."""
    groups = {each.urn: each for each in graph.of_type(NODE_GROUP)}
    for addon in graph.of_type(ADDON):
        earlier, name = before(graph, addon), addon.inputs.get("addonName")
        if name in BEFORE_NODES and (late := sorted(groups[urn].name for urn in earlier & groups.keys())):
            yield addon.name, f"waits for {', '.join(late)}, whose nodes are Ready by it only"
        if name == "coredns" and groups and not earlier & groups.keys():
            yield addon.name, "waits for no node group, and is DEGRADED while there are no nodes"
        if name == "vpc-cni":
            for group in groups.values():
                if addon.urn not in before(graph, group):
                    yield group.name, f"does not wait for {addon.name}"


@rule(
    source="NVIDIA: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html; "
    "EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html",
    remedy="on AMIs of NVIDIA's type: driver.enabled and toolkit.enabled false, one device plugin (the operator's, or "
    "the chart nvidia-device-plugin); on Bottlerocket the AMI's own",
)
def gpus_have_one_owner(graph: Graph) -> Iterator[Finding]:
    """Driver, toolkit and device plugin of GPU nodes come from the AMI or from the operator, never from both (KJ33)."""
    operators = [each for each in graph.of_type("Release") if chart_of(each) == "gpu-operator"]
    alone = [each for each in graph.of_type("Release") if chart_of(each) == "nvidia-device-plugin"]
    of_gpus = [pool for pool in pools(graph) if pool.gpus or brings_driver(pool.ami)]
    for operator in operators:
        for part in ("driver", "toolkit"):
            enabled = _enabled(operator, part)
            for pool in of_gpus:
                if enabled and brings_driver(pool.ami):
                    yield operator.name, f"installs its {part} on {pool.group.name}, whose AMI {pool.ami} includes one"
                if not enabled and not brings_driver(pool.ami) and pool.ami != "CUSTOM":
                    yield pool.group.name, f"boots {pool.ami}, which has no {part}, and {operator.name} installs none"
    if not operators:
        for pool in of_gpus:
            if not brings_driver(pool.ami) and pool.ami != "CUSTOM":
                yield pool.group.name, f"boots {pool.ami}, which has no driver for its GPUs"
    plugins = [each.name for each in operators if _enabled(each, "devicePlugin")] + [each.name for each in alone]
    for pool in of_gpus:
        owners = [*plugins, *([pool.ami] if brings_device_plugin(pool.ami) else [])]
        if len(owners) > 1:
            yield pool.group.name, f"gets its device plugin from {' and '.join(owners)}"
        elif not owners and _asked_for(graph):
            yield pool.group.name, "has GPUs but no device plugin"


def _enabled(operator: Resource, part: str) -> bool:
    """Whether a part of the operator is on: its chart's default is yes."""
    values: Mapping[str, Any] = operator.inputs.get("values") or {}
    return (values.get(part) or {}).get("enabled", True) is not False


def _asked_for(graph: Graph) -> bool:
    return any(
        name.startswith("nvidia.com/")
        for pod in pods(graph)
        for container in pod.containers
        for name in (container.get("resources") or {}).get("limits") or {}
    )


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html, "
    "creating-access-entries.html beside it",
    remedy="an aws.eks.AccessEntry of the deployer's role and an AccessPolicyAssociation of "
    "AmazonEKSClusterAdminPolicy for the cluster, on which the Kubernetes provider depends",
)
def deployer_is_let_in(graph: Graph) -> Iterator[Finding]:
    """The deployer's access entry has the administrator policy before the Kubernetes provider connects (LF05)."""
    entries = {each.inputs.get("principalArn"): each for each in graph.of_type(ENTRY)}
    policies = graph.of_type(ENTRY_POLICY)
    for each in (*entries.values(), *policies):
        if ":assumed-role/" in str(each.inputs.get("principalArn")):
            yield each.name, "names the session of a role; EKS takes the role's own ARN (arn:aws:iam::…:role/…)"
    for each in policies:
        if each.inputs.get("principalArn") not in (UNKNOWN, *entries):
            yield each.name, f"is for {each.inputs.get('principalArn')}, which has no access entry"
    admins = [each for each in policies if str(each.inputs.get("policyArn")).endswith(ADMIN) and _of_cluster(each)]
    for cluster in graph.of_type(CLUSTER):
        config = cluster.inputs.get("accessConfig") or {}
        if config.get("bootstrapClusterCreatorAdminPermissions", True) or not _providers(graph):
            continue
        if not admins:
            yield cluster.name, "admits no administrator, not even its creator"
        for provider in _providers(graph):
            if admins and not {each.urn for each in admins} & before(graph, provider):
                yield provider.name, f"may connect to {cluster.name} before {admins[0].name} exists"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/setting-up-access-entries.html, "
    "access-policies.html (policies are for entries of type STANDARD)",
    remedy="accessConfig: {authenticationMode: API}, and type STANDARD for entries that have a policy",
)
def entries_are_taken(graph: Graph) -> Iterator[Finding]:
    """EKS looks at access entries, and takes a policy for those of people and programs alone."""
    entries, policies = graph.of_type(ENTRY), graph.of_type(ENTRY_POLICY)
    for cluster in graph.of_type(CLUSTER) if entries or policies else ():
        mode = (cluster.inputs.get("accessConfig") or {}).get("authenticationMode", "CONFIG_MAP")
        if mode == "CONFIG_MAP":
            yield cluster.name, f"has authenticationMode {mode}, and refuses {(*entries, *policies)[0].name}"
    with_policy = {each.inputs.get("principalArn") for each in policies} - {UNKNOWN}
    for each in entries:
        kind = each.inputs.get("type", "STANDARD")
        if kind not in ("STANDARD", UNKNOWN) and each.inputs.get("principalArn") in with_policy:
            yield each.name, f"is of type {kind}, for which EKS refuses an access policy"


def _of_cluster(each: Resource) -> bool:
    return (each.inputs.get("accessScope") or {}).get("type") == "cluster"


def _providers(graph: Graph) -> list[Resource]:
    return graph.of_type("pulumi:providers:kubernetes")


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html; CloudWatch guide: "
    "https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html",
    remedy="a log group /aws/eks/NAME/cluster on which the cluster depends, and in its key's policy a statement for "
    "logs.REGION.amazonaws.com with the group's ARN",
)
def control_plane_logs_arrive(graph: Graph) -> Iterator[Finding]:
    """The control plane's log group exists before EKS creates one, and has a key that CloudWatch may use."""
    groups = {each.inputs.get("name"): each for each in graph.of_type(LOG_GROUP)}
    for cluster in graph.of_type(CLUSTER):
        name = f"/aws/eks/{cluster.inputs.get('name')}/cluster"
        kinds = cluster.inputs.get("enabledClusterLogTypes")
        if not kinds or UNKNOWN in name:
            continue
        if name not in groups:
            yield (
                cluster.name,
                (f"writes its log to {name}, which nothing creates: EKS creates it, without key and retention"),
            )
        elif groups[name].urn not in before(graph, cluster):
            yield cluster.name, f"does not wait for {groups[name].name}; EKS may create the group first"
    for group in groups.values():
        for key in behind(graph, group, "kmsKeyId", group.inputs.get("kmsKeyId"), KEY):
            if not _lets_logs(key, str(group.inputs.get("name"))):
                yield key.name, f"does not let CloudWatch Logs use it for {group.inputs.get('name')}"


def _lets_logs(key: Resource, name: str) -> bool:
    document = key.inputs.get("policy")
    if document in (None, UNKNOWN):
        return document == UNKNOWN
    for each in statements(document):
        services = (
            as_list((each.get("Principal") or {}).get("Service")) if isinstance(each.get("Principal"), dict) else []
        )
        if each.get("Effect") == "Allow" and any(str(one).startswith("logs.") for one in services):
            allowed = [str(one) for one in as_list(each.get("Action"))]
            contexts = [
                str(one)
                for test in (each.get("Condition") or {}).values()
                for one in as_list(test.get("kms:EncryptionContext:aws:logs:arn"))
            ]
            named = not contexts or any(fnmatchcase(f"log-group:{name}", one.split(":", 5)[-1]) for one in contexts)
            if named and all(any(fnmatchcase(need, one) for one in allowed) for need in LOGS_NEED):
                return True
    return False
