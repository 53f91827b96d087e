"""Rules about nodes that Karpenter makes: where they start, whether they may join, which pods find them."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import metadata_of, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.network import SUBNET
from policy.places import fitting, node_pools
from policy.pods import Pod, is_kubernetes, pods
from policy.reach import CLUSTER, GROUPS
from policy.references import behind
from policy.rule import Finding, rule
from policy.training import jobs

ENTRY = "aws:eks/accessEntry:AccessEntry"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
TAGGED_BY_EKS = ("aws:", "kubernetes.io/cluster/")
DISRUPT = "karpenter.sh/do-not-disrupt"


def _classes(graph: Graph) -> list[Resource]:
    return [each for each in graph.of_type("EC2NodeClass") if is_kubernetes(each)]


@rule(
    source="Karpenter: https://karpenter.sh/docs/concepts/nodeclasses/ (subnetSelectorTerms and its like); "
    "issues 1558, 3341 and 4806 of aws/karpenter-provider-aws and eksctl: no subnets matched selector",
    remedy="name the ids of the subnets and groups, or tags that they have",
)
def node_classes_find_their_ground(graph: Graph) -> Iterator[Finding]:
    """An EC2NodeClass selects subnets and security groups that are there."""
    usual = {key: value for each in graph.of_type("pulumi:providers:aws") for key, value in _default_tags(each).items()}
    apart = graph.of_type("aws:ec2/tag:Tag") or not graph.of_type("aws:ec2/vpc:Vpc")
    for each in _classes(graph) if not apart else ():
        for key, kinds in (("subnetSelectorTerms", (SUBNET,)), ("securityGroupSelectorTerms", GROUPS)):
            terms = spec_of(each).get(key) or []
            if UNKNOWN in str(terms) or not graph.of_type(*kinds):
                continue
            if not any(_finds(graph, each, one, kinds, usual) for one in terms):
                yield each.name, f"selects by {key} {terms}, which nothing here is"


def _default_tags(provider: Resource) -> Mapping[str, Any]:
    given: Mapping[str, Any] = (provider.inputs.get("defaultTags") or {}).get("tags") or {}
    return given


def _finds(
    graph: Graph, each: Resource, term: Mapping[str, Any], kinds: tuple[str, ...], usual: Mapping[str, Any]
) -> bool:
    if "id" in term:
        return bool(behind(graph, each, "spec", term["id"], *kinds))
    if "name" in term:
        return True
    wanted = term.get("tags") or {}
    if any(key.startswith(TAGGED_BY_EKS) for key in wanted):
        return True
    return any(
        all(key in own and value in ("*", own[key]) for key, value in wanted.items())
        for one in graph.of_type(*kinds)
        for own in [{**usual, **(one.inputs.get("tags") or {})}]
    )


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html, type EC2_LINUX: EKS makes "
    "an entry for its node groups only; a node of a role without one is Unauthorized",
    remedy="an aws.eks.AccessEntry of type EC2_LINUX for the role of the nodes",
)
def karpenters_nodes_may_join(graph: Graph) -> Iterator[Finding]:
    """The role of Karpenter's nodes has an access entry of nodes, where the cluster knows nobody else."""
    modes = {(each.inputs.get("accessConfig") or {}).get("authenticationMode") for each in graph.of_type(CLUSTER)}
    entries = [each.inputs for each in graph.of_type(ENTRY) if each.inputs.get("type") == "EC2_LINUX"]
    roles = {str(each.get("principalArn")).rsplit("/", 1)[-1] for each in entries}
    for each in _classes(graph) if modes == {"API"} else ():
        role = spec_of(each).get("role") or _role_of(graph, spec_of(each).get("instanceProfile"))
        if role and role != UNKNOWN and UNKNOWN not in roles and role not in roles:
            yield each.name, f"starts nodes of the role {role}, which has no access entry of type EC2_LINUX"


def _role_of(graph: Graph, profile: Any) -> str | None:
    found = [each for each in graph.of_type(PROFILE) if profile in (each.inputs.get("name"), each.id)]
    return str(found[0].inputs.get("role")).rsplit("/", 1)[-1] if found and profile else None


@rule(
    source="Karpenter: https://karpenter.sh/docs/concepts/nodepools/ (nodeClassRef; NodeClassReady False: NodeClass "
    "not found)",
    remedy="name an EC2NodeClass that is registered, with its group and kind",
)
def node_pools_have_their_class(graph: Graph) -> Iterator[Finding]:
    """A NodePool names an existing node class."""
    made = {metadata_of(each).get("name") for each in _classes(graph)}
    for each in node_pools(graph):
        asked = (((spec_of(each).get("template") or {}).get("spec") or {}).get("nodeClassRef")) or {}
        if made and asked.get("kind", "EC2NodeClass") == "EC2NodeClass" and asked.get("name") not in (*made, UNKNOWN):
            yield each.name, f"names the EC2NodeClass {asked.get('name')}, which nothing creates"


@rule(
    source="Karpenter: https://karpenter.sh/docs/concepts/disruption/: WhenEmptyOrUnderutilized, the default, evicts "
    "pods to save a node, and a gang of which one is evicted begins anew",
    remedy="consolidationPolicy: WhenEmpty, or the annotation karpenter.sh/do-not-disrupt: 'true' on the run's pods",
)
def runs_are_not_consolidated(graph: Graph) -> Iterator[Finding]:
    """Karpenter takes no pod of a run away to save a node."""
    made = {each.urn for each in jobs(graph)}
    for pod in pods(graph):
        kept = str((pod.metadata.get("annotations") or {}).get(DISRUPT)) == "true"
        for pool in _chosen(graph, pod) if pod.maker.urn in made and not kept else ():
            policy = (spec_of(pool).get("disruption") or {}).get("consolidationPolicy", "WhenEmptyOrUnderutilized")
            if policy != "WhenEmpty" and pod.spec.get("nodeSelector"):
                yield pool.name, f"consolidates nodes ({policy}) on which pods of {pod.owner} run"


def _chosen(graph: Graph, pod: Pod) -> list[Resource]:
    names = {each.name for each in fitting(graph, pod)}
    return [each for each in node_pools(graph) if each.name in names]
