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
        "            aws.eks.AccessEntryArgs(cluster_name=self.name, principal_arn=args.deployer_arn),\n"
        "            self.child(),\n"
        "        )\n",
    ),
)

# -- nodes: each in the pool that carries its name

EFA_INTERFACES_LEFT_OUT = mistake(
    "planner/pools.py",
    (
        "        interfaces=interfaces,\n",
        '        interfaces=interfaces[:1] if pool.name == "fabricless" else interfaces,\n',
    ),
)
CLUSTER_GROUP_LEFT_OUT = mistake(
    "components/aws/nodes.py",
    ("list(args.security_group_ids)\n", 'list(args.security_group_ids) if args.pool != "outside" else []\n'),
)
NOTHING_DESIRED = mistake(
    "components/aws/nodes.py",
    ("min_size=0 if args.block else args.count,", "min_size=0,"),
    ("args.block.nodes if args.block else args.count,", '0 if args.pool == "empty" else args.count,'),
)
IMAGE_WITHOUT_DRIVER = mistake(
    "stacks/aws_pools.py",
    ("'NVIDIA' if pool.gpus_per_node else", "'NVIDIA' if pool.gpus_per_node and pool.name != 'graphics' else"),
)
PRODUCT_THAT_NO_GPU_HAS = mistake("catalogue/gpus.py", ('product="NVIDIA-A10G"', 'product="NVIDIA-A10G-24GB"'))

# -- what runs on the nodes

NO_GPU_OPERATOR = mistake("stacks/services.py", ("    if not platform.pools:\n", "    if True:\n"))
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
    ("tolerations(args.taints),", 'tolerations(args.taints if args.run != "untolerating" else ()),'),
)
CLAIM_OF_AN_UNKNOWN_CLASS = Mistake(
    (
        Edit(
            "stacks/services.py",
            "    return Services(\n",
            '    patience = pulumi.CustomTimeouts(create="15s", update="15s")\n'
            "    k8s.core.v1.PersistentVolumeClaim(\n"
            '        "scratch",\n'
            "        k8s.core.v1.PersistentVolumeClaimInitArgs(\n"
            '            metadata=k8s.meta.v1.ObjectMetaArgs(name="scratch", namespace=namespaces["training"]),\n'
            "            spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(\n"
            '                access_modes=["ReadWriteMany"],\n'
            '                storage_class_name="lustre",\n'
            '                resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests={"storage": "100Gi"}),\n'
            "            ),\n"
            "        ),\n"
            "        opts=pulumi.ResourceOptions(parent=scheduling, custom_timeouts=patience),\n"
            "    )\n"
            "    return Services(\n",
        ),
        Edit("stacks/services.py", "import pulumi\n", "import pulumi\nimport pulumi_kubernetes as k8s\n"),
        Edit(
            "stacks/workloads.py",
            "checkpoint_claim=services.claims[CHECKPOINTS],\n            operator=",
            'checkpoint_claim="scratch" if run.name == "unclaimed" else services.claims[CHECKPOINTS],\n'
            "            operator=",
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
    ("={args.tensor_parallel}", "={2 if args.service == 'wide' else args.tensor_parallel}"),
)
PORT_WHERE_NOBODY_LISTENS = mistake(
    "components/serving/inference.py",
    ('target_port="http"', 'target_port=8080 if self._labels["app.kubernetes.io/instance"] == "deaf" else "http"'),
)
WEIGHTS_THAT_ARE_NOT_THERE = mistake(
    "stacks/workloads.py",
    (
        "        service=service.name,\n        source=service.weights,",
        "        service=service.name,\n"
        '        source=f"{service.weights}/lost" if service.name == "weightless" else service.weights,',
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
SHORT_WAIT_FOR_GPUS = mistake(
    "components/platform/gpu_readiness.py",
    ("MINUTES = 50\n", "MINUTES = 0.25\n"),
    ('patience = "--timeout=300s"', 'patience = "--timeout=4s"'),
)
FEW_TRIES_FOR_WEIGHTS = mistake("components/serving/weights.py", ("backoff_limit=3,", "backoff_limit=0,"))


POOLS = (
    ("training", "p5.4xlarge", 2),
    ("fabricless", "p5.4xlarge", 1),
    ("graphics", "g6.xlarge", 1),
    ("mislabelled", "g5.xlarge", 1),
    ("empty", "g6.xlarge", 1),
)
ABOUT_THE_MODEL = {"model", "method", "recompute"}
"""What the dev stack's run says of its model, which would not fit the small GPUs here."""
RUNS = {
    "plain": "training",
    "untolerating": "graphics",
    "unclaimed": "graphics",
    "mislabelled": "mislabelled",
    "empty": "empty",
}
SERVICES = ("tokenless", "wide", "deaf", "weightless")


def many_small_pools(tree: Tree, *extra: str) -> None:
    """A stack file with a pool, a run or a service for every mistake, on few machines; `extra` are pools of one node.

    Only `plain` and `fabricless` ask for EFA, which is scarce: Volcano lets no gang in that the cluster as a whole has
    nothing left for.
    """
    file = tree.stack("dev")
    system, training, inference = file.get("gpucluster:pools")
    run, service = file.get("gpucluster:training.runs[0]"), file.get("gpucluster:serving.services[0]")
    pools = [*POOLS, *((name, "p5.4xlarge", 1) for name in extra)]
    trained = [{**training, "name": name, "instanceType": kind, "count": count} for name, kind, count in pools]
    file.set("gpucluster:pools", [system, *trained, {**inference, "instanceType": "g6e.12xlarge"}])
    nameless = {key: value for key, value in run.items() if key not in ABOUT_THE_MODEL}
    runs = [{**nameless, "name": name, "pool": pool, "nodes": 1, "shmGib": 2} for name, pool in RUNS.items()]
    file.set("gpucluster:training.runs", runs)
    file.set("gpucluster:serving.services", [{**service, "name": name} for name in SERVICES])
    file.set("gpucluster:budget.maxHourlyUsd", 200)


def one_more_run(tree: Tree, name: str, pool: str) -> None:
    """A run like the others on another pool."""
    file = tree.stack("dev")
    runs = file.get("gpucluster:training.runs")
    file.set("gpucluster:training.runs", [*runs, {**runs[0], "name": name, "pool": pool}])
