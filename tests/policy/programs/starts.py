"""What starts: pods that have nodes and ports of theirs, variables and scripts, work that has its time."""

from dataclasses import replace
from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, gpus, job, pod, release, resource, template, thing, training

NODES = resource(
    "aws:eks/nodeGroup:NodeGroup", "nodes", labels={"pool": "a"}, scalingConfig={"maxSize": 2, "minSize": 1}
)
IN_ZONE = resource("aws:eks/nodeGroup:NodeGroup", "zonal", subnetIds=["subnet-1"])
SUBNET = replace(
    resource("aws:ec2/subnet:Subnet", "subnet", availabilityZoneId="use2-az1"),
    id="subnet-1",
    outputs={"availabilityZone": "us-east-2a"},
)
ZONE = "topology.kubernetes.io/zone"
JOINS = """nodeRegistration:
  name: {}
  kubeletExtraArgs:
  - name: node-labels
    value: pool=a
"""
ONE_MACHINE = resource("command:remote:Command", "joined", stdin=JOINS.format("cp-1"))
OWN, OTHER = ({"labelSelector": {"matchLabels": {"app": each}}} for each in ("one", "other"))


def apart(replicas: int, **how: Any) -> Resource:
    """A Deployment of which each pod needs a node for itself."""
    terms = [{"topologyKey": "kubernetes.io/hostname", **OWN, **how}]
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return deployment(replicas=replicas, affinity={"podAntiAffinity": {key: terms}})


def near(*values: str, key: str = "pool") -> Resource:
    """A Deployment that needs nodes with one of these values."""
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]
    how = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return deployment(affinity={"nodeAffinity": how})


def spread(by: dict[str, Any]) -> Resource:
    rule = {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **by}
    return deployment(topologySpreadConstraints=[rule])


def daemon(name: str, port: int = 9100, *, host: bool = True, **spec: Any) -> Resource:
    """A DaemonSet with a port, of its node or of its own."""
    container = {"ports": [{"containerPort": port}]}
    inner = template(container, hostNetwork=host, **spec)
    return thing("apps/v1", "DaemonSet", name, spec={"selector": {"matchLabels": {"app": "one"}}, "template": inner})


def on_host(word: str, **spec: Any) -> Resource:
    return deployment({"args": [f"--to={word}"]}, hostNetwork=True, **spec)


def written(*env: tuple[str, str], **container: Any) -> Resource:
    return deployment({"env": [{"name": name, "value": value} for name, value in env], **container})


def script(*command: str, **volume: Any) -> Resource:
    mounts = [{"name": "files", "mountPath": "/files"}]
    volumes = [{"name": "files", "configMap": {"name": "files", **volume}}]
    return deployment({"command": list(command), "volumeMounts": mounts}, volumes=volumes)


def cron(**spec: Any) -> Resource:
    inner = {"template": {"spec": pod(restartPolicy="Never")}}
    return thing("batch/v1", "CronJob", spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": inner}, **spec})


def before(number: int, **more: Any) -> Resource:
    """A server of four GPUs, and a container before it that asks for so many."""
    first = {"name": "warm", "image": "work:1", **gpus(number), **more}
    return deployment(gpus(4), initContainers=[first])


def launching(*command: str, at: str = "/data", **more: Any) -> Resource:
    """A container whose root is read-only, with an emptyDir at a path."""
    mounts = [{"name": "files", "mountPath": at}]
    context = {"readOnlyRootFilesystem": True}
    container = {"command": list(command), "securityContext": context, "volumeMounts": mounts, **more}
    return deployment(container, volumes=[{"name": "files", "emptyDir": {}}])


def limited(resource: str, request: str, limit: str) -> Resource:
    return deployment({"resources": {"requests": {resource: request}, "limits": {resource: limit}}})


QUEUED = thing("batch/v1", "Job", labels={"kueue.x-k8s.io/queue-name": "a"}, spec={"suspend": True})
PLACED, APART, SPREAD = "pods_can_be_placed", "copies_have_nodes", "spreads_count_their_pods"
STARTED, FIRST, TMP = "runs_are_started", "first_containers_take_no_more", "read_only_roots_have_a_tmp"
LIMITED = "extended_resources_limited"
FREE, NAMES = "host_ports_are_free", "host_networks_resolve_services"
FILLED, RUN, TIME, OPERATORS = (
    "variables_are_filled_in",
    "scripts_may_be_run",
    "work_is_given_its_time",
    "cilium_operators_have_nodes",
)
SERVICE = "http://prometheus.monitoring.svc:9090"
PROGRAMS = [
    Program(PLACED, (near("b"), NODES), "selects nodes with pool=b, which no node has"),
    Program(PLACED, (near("b", "a"), NODES)),
    Program(PLACED, (near("pass", key="of-a-gate"), NODES)),
    Program(
        PLACED, (near("us-east-2z", key=ZONE), IN_ZONE, SUBNET), "with topology.kubernetes.io/zone=us-east-2z, which"
    ),
    Program(PLACED, (near("use2-az9", key="topology.k8s.aws/zone-id"), IN_ZONE, SUBNET), "zone-id=use2-az9, which no"),
    Program(PLACED, (near("us-east-2a", key=ZONE), IN_ZONE, SUBNET)),
    Program(PLACED, (near("us-east-2z", key=ZONE), IN_ZONE)),
    Program(PLACED, (near("us-east-2z", key=ZONE), IN_ZONE, SUBNET, NODES)),
    Program(APART, (apart(3), NODES), "keeps 3 pods apart, and there are 2 nodes"),
    Program(APART, (apart(2), ONE_MACHINE), "keeps 2 pods apart, and there are 1 nodes"),
    Program(APART, (apart(2), NODES)),
    Program(APART, (apart(3, **OTHER), NODES)),
    Program(APART, (apart(3, topologyKey="topology.kubernetes.io/zone"), NODES)),
    Program(APART, (apart(3), NODES, thing("karpenter.sh/v1", "NodePool", "more", namespace=""))),
    Program(APART, (apart(3),)),
    Program(SPREAD, (spread(OTHER),), "is spread by the number of pods that it is not one of"),
    Program(SPREAD, (spread({}),), "is spread by the number of pods that it is not one of"),
    Program(SPREAD, (spread(OWN),)),
    Program(FREE, (daemon("a"), daemon("b")), "takes TCP port 9100 of its node, which a takes"),
    Program(FREE, (daemon("a"), daemon("b", 9101))),
    Program(FREE, (daemon("a"), daemon("b", host=False))),
    Program(FREE, (daemon("a", nodeSelector={"pool": "a"}), daemon("b", nodeSelector={"pool": "b"}))),
    Program(NAMES, (on_host(SERVICE),), "names prometheus.monitoring.svc and asks its node's resolver"),
    Program(NAMES, (on_host(SERVICE, dnsPolicy="ClusterFirstWithHostNet"),)),
    Program(NAMES, (on_host("https://api.example.com"),)),
    Program(FILLED, (written(("URL", "http://$(HOST)"), ("HOST", "a")),), "writes $(HOST) where HOST is not defined"),
    Program(FILLED, (written(args=["--name=$(POD_NAME)"]),), "writes $(POD_NAME)"),
    Program(FILLED, (written(command=["/bin/run", "--home=$HOME"]),), "passes --home=$HOME as it is written"),
    Program(FILLED, (written(("HOST", "a"), ("URL", "http://$(HOST)"), args=["$(URL)"]),)),
    Program(FILLED, (written(args=["--to=$(API_SERVICE_HOST)", "$$(NOT_ONE)"]),)),
    Program(FILLED, (written(command=["sh", "-c", "run $HOME"]),)),
    Program(FILLED, (training(container={"args": ["--nnodes=$(PET_NNODES)"]}),)),
    Program(RUN, (script("/files/run.sh"),), "starts /files/run.sh of the ConfigMap files, which nobody may run"),
    Program(RUN, (script("/files/run.sh", defaultMode=0o755),)),
    Program(RUN, (script("/files/run.sh", items=[{"key": "a", "path": "run.sh", "mode": 0o555}]),)),
    Program(RUN, (script("sh", "/files/run.sh"),)),
    Program(TIME, (training(activeDeadlineSeconds=3600),), "ends its pods after 3600 s"),
    Program(TIME, (cron(startingDeadlineSeconds=5),), "starts at most 5 s late"),
    Program(TIME, (cron(schedule="TZ=UTC 0 3 * * *"),), "which the API refuses"),
    Program(TIME, (cron(startingDeadlineSeconds=60, timeZone="Etc/UTC"), job(activeDeadlineSeconds=60), training())),
    Program(OPERATORS, (release("cilium"), ONE_MACHINE), "has 2 operators for 1 machines"),
    Program(OPERATORS, (release("cilium", operator={"replicas": 1}), ONE_MACHINE)),
    Program(OPERATORS, (release("cilium"),)),
    Program(STARTED, (training(spec={"runPolicy": {"suspend": True}}),), "is a PyTorchJob that is suspended"),
    Program(STARTED, (job(suspend=True),), "is a Job that is suspended"),
    Program(STARTED, (QUEUED, job(suspend=False), cron(suspend=True))),
    Program(STARTED, (job(suspend=True, managedBy="kueue.x-k8s.io/multikueue"),)),
    Program(FIRST, (before(8),), "takes 8 nvidia.com/gpu for warm and works with 4 of them"),
    Program(FIRST, (before(4), before(8, restartPolicy="Always"))),
    Program(TMP, (launching("torchrun", "train.py"),), "starts torchrun in main, which may write nowhere"),
    Program(TMP, (launching("sh", "-c", "exec /opt/bin/vllm serve /m"),), "starts /opt/bin/vllm in main"),
    Program(TMP, (launching("torchrun", "train.py", at="/tmp"), launching("vllm", "serve", at="/var/"))),
    Program(TMP, (launching("torchrun", env=[{"name": "TMPDIR", "value": "/data/tmp"}]), launching("serve"))),
    Program(LIMITED, (limited("memory", "2Gi", "1Gi"),), "requests 2Gi memory and limits it to 1Gi"),
    Program(LIMITED, (limited("cpu", "1500m", "1"),), "requests 1500m cpu and limits it to 1"),
    Program(LIMITED, (limited("nvidia.com/gpu", "1", "2"),), "requests 1 nvidia.com/gpu and limits it to 2"),
    Program(LIMITED, (limited("memory", "1Gi", "2Gi"), limited("cpu", "1", "1000m"), before(4))),
]
