"""Rules about nodes that Karpenter makes: where they start, whether they may join, which pods find them."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import metadata_of, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.kubernetes import tolerates
from policy.network import SUBNET
from policy.pods import Pod, is_kubernetes, pods
from policy.pools import NODE_GROUP
from policy.reach import CLUSTER, GROUPS
from policy.references import behind
from policy.rule import Finding, rule
from policy.topology import OF_NODES
from policy.training import jobs

ENTRY = "aws:eks/accessEntry:AccessEntry"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
TAGGED_BY_EKS = ("aws:", "kubernetes.io/cluster/")
EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
DISRUPT = "karpenter.sh/do-not-disrupt"


def _classes(graph: Graph) -> list[Resource]:
    return [each for each in graph.of_type("EC2NodeClass") if is_kubernetes(each)]


def _pools(graph: Graph) -> list[Resource]:
    return [each for each in graph.of_type("NodePool") if each.token.startswith("kubernetes:karpenter.sh/")]


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
    for each in _pools(graph):
        asked = (((spec_of(each).get("template") or {}).get("spec") or {}).get("nodeClassRef")) or {}
        if made and asked.get("kind", "EC2NodeClass") == "EC2NodeClass" and asked.get("name") not in (*made, UNKNOWN):
            yield each.name, f"names the EC2NodeClass {asked.get('name')}, which nothing creates"


def _offers(pool: Resource) -> tuple[dict[str, list[str]], list[Mapping[str, str]]]:
    """Values by label, and taints as EKS writes them, of the nodes of a NodePool."""
    template = spec_of(pool).get("template") or {}
    inner = template.get("spec") or {}
    offered = {key: [value] for key, value in ((template.get("metadata") or {}).get("labels") or {}).items()}
    for one in inner.get("requirements") or []:
        if one.get("operator") == "In":
            offered[one["key"]] = list(one.get("values") or [])
    taints: list[Mapping[str, str]] = [
        {"key": one["key"], "value": one.get("value", ""), "effect": EFFECTS[one["effect"]]}
        for one in inner.get("taints") or []
        if one.get("effect") in EFFECTS
    ]
    return offered, taints


def _selected(graph: Graph, pod: Pod) -> list[tuple[Resource, list[Mapping[str, str]]]]:
    """NodePools whose nodes a pod selects, with their taints. Labels that nobody writes are not looked at."""
    found = []
    for pool in _pools(graph):
        offered, taints = _offers(pool)
        wanted = {key: value for key, value in (pod.spec.get("nodeSelector") or {}).items() if key in _written(graph)}
        if all(value in offered.get(key, ()) for key, value in wanted.items()):
            found.append((pool, taints))
    return found


def _written(graph: Graph) -> set[str]:
    """Labels that a node group or a NodePool gives its nodes."""
    groups = {key for each in graph.of_type(NODE_GROUP) for key in each.inputs.get("labels") or {}}
    made = {key for pool in _pools(graph) for key in _offers(pool)[0] if "kubernetes.io/" not in key}
    return {key for key in [*groups, *made] if not key.startswith(OF_NODES)}


@rule(
    source="Karpenter: https://karpenter.sh/docs/troubleshooting/ (incompatible requirements, did not tolerate taint); "
    "https://karpenter.sh/docs/concepts/nodepools/",
    remedy="select labels that a node group or a NodePool has, and tolerate its taints",
)
def pods_find_a_pool(graph: Graph) -> Iterator[Finding]:
    """Where Karpenter makes nodes, a pod still selects some that somebody makes, and tolerates their taints (J09)."""
    for pod in pods(graph) if _pools(graph) else ():
        wanted = {key: value for key, value in (pod.spec.get("nodeSelector") or {}).items() if key in _written(graph)}
        places = [
            (each.name, each.inputs.get("taints") or [])
            for each in graph.of_type(NODE_GROUP)
            if wanted.items() <= (each.inputs.get("labels") or {}).items()
        ]
        places += [(pool.name, taints) for pool, taints in _selected(graph, pod)]
        if not places:
            yield pod.owner, f"selects nodes with {wanted}, which no node group and no NodePool has"
        elif not any(all(tolerates(pod, taint) for taint in taints) for _, taints in places):
            yield pod.owner, f"tolerates the taints of none of {', '.join(name for name, _ in places)}"


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
        for pool, _ in _selected(graph, pod) if pod.maker.urn in made and not kept else ():
            policy = (spec_of(pool).get("disruption") or {}).get("consolidationPolicy", "WhenEmptyOrUnderutilized")
            if policy != "WhenEmpty" and pod.spec.get("nodeSelector"):
                yield pool.name, f"consolidates nodes ({policy}) on which pods of {pod.owner} run"
