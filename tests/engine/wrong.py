"""Wrong programs: one mistake each, made by editing a copied tree as a person would make it."""

from dataclasses import dataclass

from .trees import Tree


@dataclass(frozen=True)
class Edit:
    """The one place of a file where `old` stands, and what stands there instead."""

    path: str
    old: str
    new: str

    def __call__(self, tree: Tree) -> None:
        tree.edit(self.path, self.old, self.new)


@dataclass(frozen=True)
class Mistake:
    """What a wrong program says differently from a right one."""

    edits: tuple[Edit, ...]

    def __call__(self, tree: Tree) -> None:
        for edit in self.edits:
            edit(tree)


def mistake(path: str, *changes: tuple[str, str]) -> Mistake:
    """A mistake in one file."""
    return Mistake(tuple(Edit(path, old, new) for old, new in changes))


# -- access

NO_ACCESS_ENTRY = mistake(
    "components/aws/cluster.py",
    (
        '        self.access = self._admit("deployer", args, args.deployer_arn)\n',
        "        self.access = cluster\n",
    ),
)
ENTRY_WITHOUT_POLICY = mistake(
    "components/aws/cluster.py",
    (
        '        self.access = self._admit("deployer", args, args.deployer_arn)\n',
        "        self.access = aws.eks.AccessEntry(\n"
        '            self.named("deployer"),\n'
        '            aws.eks.AccessEntryArgs(cluster_name=self.name, principal_arn=args.deployer_arn, type="STANDARD"),\n'
        "            self.child(),\n"
        "        )\n",
    ),
)

# -- nodes: each in the pool that carries its name

EFA_INTERFACES_LEFT_OUT = mistake(
    "planner/pools.py",
    ("        interfaces=interfaces,\n", '        interfaces=interfaces[:1] if pool.name == "fabricless" else interfaces,\n'),
)
CLUSTER_GROUP_LEFT_OUT = mistake(
    "components/aws/nodes.py",
    ("list(args.security_group_ids)\n", 'list(args.security_group_ids) if args.pool != "outside" else []\n'),
)
NOTHING_DESIRED = mistake(
    "components/aws/nodes.py",
    (
        "min_size=args.count, desired_size=args.count,",
        'min_size=0, desired_size=0 if args.pool == "empty" else args.count,',
    ),
)
PRODUCT_THAT_NO_GPU_HAS = mistake("catalogue/gpus.py", ('product="NVIDIA-A10G"', 'product="NVIDIA-A10G-24GB"'))

# -- what runs on the nodes

NO_GPU_OPERATOR = mistake("stacks/services.py", ("    if platform.pools:\n", "    if False:\n"))
EFA_PLUGIN_TOLERATES_NOTHING = mistake(
    "components/platform/efa_plugin.py", (", *(dict(each) for each in tolerations)]", "]")
)
NO_FSX_DRIVER = Mistake(
    (
        Edit(
            "components/aws/addons.py",
            '    AddonSpec(name="aws-fsx-csi-driver", service_account="fsx-csi-controller-sa", '
            'policy="AmazonFSxFullAccess"),\n',
            "",
        ),
        Edit("stacks/aws.py", 'services.installed["aws-fsx-csi-driver"]', 'services.installed["coredns"]'),
    )
)

# -- workloads: each in the run or service that carries its name

TOLERATES_NOTHING = mistake(
    "components/training/job.py",
    ('tolerations(args.taints),', 'tolerations(args.taints if args.run != "untolerating" else ()),'),
)
CLAIM_OF_AN_UNKNOWN_CLASS = Mistake(
    (
        Edit(
            "stacks/services.py",
            "    return Services(\n",
            "    k8s.core.v1.PersistentVolumeClaim(\n"
            '        "scratch",\n'
            "        k8s.core.v1.PersistentVolumeClaimInitArgs(\n"
            '            metadata=k8s.meta.v1.ObjectMetaArgs(name="scratch", namespace=namespaces["training"]),\n'
            "            spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(\n"
            '                access_modes=["ReadWriteMany"],\n'
            '                storage_class_name="gp2",\n'
            '                resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests={"storage": "100Gi"}),\n'
            "            ),\n"
            "        ),\n"
            '        opts=pulumi.ResourceOptions(parent=scheduling, custom_timeouts=pulumi.CustomTimeouts(create="15s")),\n'
            "    )\n"
            "    return Services(\n",
        ),
        Edit("stacks/services.py", "import pulumi\n", "import pulumi\nimport pulumi_kubernetes as k8s\n"),
        Edit(
            "stacks/workloads.py",
            "checkpoint_claim=services.claims[CHECKPOINTS],",
            'checkpoint_claim="scratch" if run.name == "unclaimed" else services.claims[CHECKPOINTS],',
        ),
    )
)
SECRET_THAT_NOBODY_MAKES = Mistake(
    (
        Edit(
            "stacks/workloads.py",
            "api_key=tokens[API_TOKEN],",
            'api_key=SecretKey(name="forgotten", key="token") if service.name == "tokenless" else tokens[API_TOKEN],',
        ),
        Edit(
            "stacks/workloads.py",
            "from components.serving.tokens import Tokens,",
            "from components.serving.tokens import SecretKey, Tokens,",
        ),
    )
)
MORE_GPUS_THAN_THE_POD_HAS = mistake(
    "components/serving/inference.py",
    ("={args.tensor_parallel}", '={2 if args.service == "wide" else args.tensor_parallel}'),
)
PORT_WHERE_NOBODY_LISTENS = mistake(
    "components/serving/inference.py",
    ('target_port="http"', 'target_port=8080 if args.service == "deaf" else "http"'),
)
WEIGHTS_THAT_ARE_NOT_THERE = mistake(
    "stacks/workloads.py",
    (
        "        source=service.weights,\n        image=",
        '        source=f"{service.weights}/lost" if service.name == "weightless" else service.weights,\n        image=',
    ),
)

# -- a person's patience, which a test has less of

SHORT_WAIT_FOR_SERVERS = mistake(
    "components/serving/inference.py",
    (
        "patience = args.startup_seconds + 600",
        'patience = 15 if args.service in ("tokenless", "wide") else args.startup_seconds + 600',
    ),
)
SHORT_WAIT_FOR_WEIGHTS = mistake(
    "stacks/workloads.py", ("timeout_seconds=planned.startup_seconds + 1800,", "timeout_seconds=15,")
)
FEW_TRIES_FOR_WEIGHTS = mistake("components/serving/weights.py", ("backoff_limit=6,", "backoff_limit=1,"))


def several_wrong_pools(tree: Tree) -> None:
    """A stack file with a pool, run or service for every mistake, all on few machines.

    The quota of GPUs in `training` is what its pools have; `empty` is counted with two nodes so that all pods fit in.
    """
    file = tree.stack("dev")
    system, training, inference = file.get("gpucluster:pools")
    run, service = file.get("gpucluster:training.runs[0]"), file.get("gpucluster:serving.services[0]")
    pools = [system]
    for name, instance, count in (
        ("training", "p5.4xlarge", 1),
        ("fabricless", "p5.4xlarge", 1),
        ("outside", "p5.4xlarge", 1),
        ("empty", "p5.4xlarge", 2),
        ("mislabelled", "g5.xlarge", 1),
    ):
        pools.append({**training, "name": name, "instanceType": instance, "count": count})
    pools.append({**inference, "instanceType": "g6e.12xlarge"})
    file.set("gpucluster:pools", pools)
    runs = []
    for name, pool in (
        ("plain", "training"),
        ("untolerating", "training"),
        ("unclaimed", "training"),
        ("fabricless", "fabricless"),
        ("empty", "empty"),
        ("mislabelled", "mislabelled"),
    ):
        runs.append({**run, "name": name, "pool": pool, "nodes": 1, "shmGib": 2})
    file.set("gpucluster:training.runs", runs)
    names = ("tokenless", "wide", "deaf", "weightless")
    file.set("gpucluster:serving.services", [{**service, "name": name} for name in names])
    file.set("gpucluster:budget.maxHourlyUsd", 200)
